/** The template under given parameters: conditions are decided, what they leave out is gone, and what parameters say is computed. */

import { Fn, Token } from "aws-cdk-lib";

/** A parameter of a template, as it is declared. */
export interface Parameter {
  Default: string;
  AllowedValues?: string[];
  AllowedPattern?: string;
}

/** A resource of a template. */
export interface Resource {
  Type: string;
  Condition?: string;
  DependsOn?: string | string[];
  Properties: Record<string, unknown>;
  [attribute: string]: unknown;
}

/** A template of CloudFormation's, without SAM's types. */
export interface Template {
  Parameters: Record<string, Parameter>;
  Mappings: Record<string, Record<string, Record<string, string>>>;
  Rules: Record<string, { RuleCondition: unknown; Assertions: { Assert: unknown; AssertDescription: string }[] }>;
  Conditions: Record<string, unknown>;
  Resources: Record<string, Resource>;
  Outputs: Record<string, { Condition?: string; Description: string; Value: unknown }>;
}

/** What takes the place of references to resources: the value of a Ref, or of one attribute. */
export type Reference = (resource: string, attribute?: string) => unknown;

/** A template under parameters. A value may be a token: it is taken for one that is given, and equal to no text. */
export class Standing {
  constructor(
    private readonly template: Template, private readonly parameters: Readonly<Record<string, string>>, private readonly stackName: string,
    private readonly refer: Reference) {}

  /** The names of the resources that there are. */
  get resources(): string[] {
    return Object.keys(this.template.Resources).filter(name => this.holds(this.template.Resources[name]!.Condition));
  }

  /** The names of the outputs that there are. */
  get outputs(): string[] {
    return Object.keys(this.template.Outputs).filter(name => this.holds(this.template.Outputs[name]!.Condition));
  }

  /** What contradicts itself in the parameters. */
  contradictions(): string[] {
    const rules = Object.values(this.template.Rules).filter(rule => this.holds(rule.RuleCondition));
    return rules.flatMap(rule => rule.Assertions).filter(({ Assert }) => !this.holds(Assert)).map(({ AssertDescription }) => AssertDescription);
  }

  /** A value with all that is known in its place. `undefined`: there is none. */
  resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(item => this.resolved(item)).filter(item => item !== undefined);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    const [name, argument] = entries.length === 1 ? entries[0]! : ["", undefined];
    switch (name) {
      case "Ref":
        return this.reference(argument as string);
      case "Fn::GetAtt":
        return this.refer((argument as string[])[0]!, (argument as string[])[1]);
      case "Fn::If":
        return this.resolved((argument as unknown[])[this.holds({ Condition: (argument as string[])[0] }) ? 1 : 2]);
      case "Fn::Sub":
        return Array.isArray(argument) ? this.substituted(argument[0] as string, argument[1] as object) : this.substituted(argument as string);
      case "Fn::Join": {
        const [between, parts] = argument as [string, unknown[]];
        return Fn.join(between, parts.map(part => this.text(this.resolved(part))));
      }
      case "Fn::Split": {
        const [between, text] = argument as [string, unknown];
        return Fn.split(between, this.text(this.resolved(text)));
      }
      case "Fn::Select": {
        const [index, list] = argument as [number, unknown];
        return Fn.select(Number(index), this.resolved(list) as string[]);
      }
      case "Fn::FindInMap": {
        const [map, first, second] = (argument as unknown[]).map(part => String(this.resolved(part))) as [string, string, string];
        const found = this.template.Mappings[map]![first]![second];
        // A mapping of a template has no booleans.
        return found === "true" || found === "false" ? found === "true" : found;
      }
    }
    if (name.startsWith("Fn::")) throw new Error(`the template has a function that this construct doesn't know: ${name}`);
    return Object.fromEntries(entries.map(([key, item]) => [key, this.resolved(item)] as const).filter(([, item]) => item !== undefined));
  }

  private reference(name: string): unknown {
    if (name === "AWS::NoValue") return undefined;
    if (name === "AWS::StackName") return this.stackName;
    if (name.startsWith("AWS::")) return Fn.ref(name);
    return this.parameters[name] ?? this.refer(name);
  }

  private substituted(text: string, variables: object = {}): string {
    const given = new Map(Object.entries(variables));
    return text.replace(/\$\{([^}]+)\}/g, (_, name: string) => {
      if (given.has(name)) return this.text(this.resolved(given.get(name)));
      const [resource, attribute] = name.split(".");
      return this.text(attribute === undefined ? this.reference(name) : this.refer(resource!, attribute));
    });
  }

  private text(value: unknown): string {
    return typeof value === "string" ? value : Token.asString(value);
  }

  private holds(condition: unknown): boolean {
    if (condition === undefined) return true;
    if (typeof condition === "string") return this.holds(this.template.Conditions[condition]);
    const [name, argument] = Object.entries(condition as object)[0] as [string, unknown];
    const all = argument as unknown[];
    switch (name) {
      case "Condition":
        return this.holds(argument);
      case "Fn::Equals":
        return this.resolved(all[0]) === this.resolved(all[1]);
      case "Fn::Not":
        return !this.holds(all[0]);
      case "Fn::And":
        return all.every(one => this.holds(one));
      case "Fn::Or":
        return all.some(one => this.holds(one));
    }
    throw new Error(`the template has a condition that this construct doesn't know: ${name}`);
  }
}
