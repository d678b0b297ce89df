/** Sapwood as a construct of the AWS CDK: the resources of its template, in the stack of an app. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Aws, type CfnDeletionPolicy, CfnOutput, CfnResource, Stack, Token } from "aws-cdk-lib";
import * as dynamodb from "aws-cdk-lib/aws-dynamodb";
import * as iam from "aws-cdk-lib/aws-iam";
import * as kms from "aws-cdk-lib/aws-kms";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import { Construct } from "constructs";
import type { SapwoodParameters } from "./parameters.js";
import { resourceOf, versionId } from "./resources.js";
import { parametersOf } from "./table.js";
import { type Parameter, Standing, type Template } from "./template.js";

export type { SapwoodParameters } from "./parameters.js";

/** The properties of the construct. */
export interface SapwoodProps extends SapwoodParameters {
  /**
   * A table that is there already, or that the app makes: with a partition key and a sort key, both strings, and a stream of new and old
   * images. The names of its keys and of its TTL attribute are taken from it. Of an imported table they aren't known: set `partitionKey`,
   * `sortKey` and `ttlAttribute` where they differ from the defaults. Switching TTL on is up to the table's owner.
   *
   * @default the construct makes a table, which is kept when the stack goes
   */
  readonly table?: dynamodb.ITable;
  /**
   * True: the stack has the outputs of Sapwood's own stack, by which programs such as `infra/smoke --stack` find what there is. One construct
   * of a stack can have them.
   *
   * @default true
   */
  readonly outputs?: boolean;
}

const FUNCTIONS = join(__dirname, "..", "functions");
const VERSION = "AWS::Lambda::Version";

/** Sapwood: a table (or yours), the function on its stream, the HTTP API, the auditor, alarms and the dashboard. */
export class Sapwood extends Construct {
  /** The table, for grants. Sapwood's own functions have theirs. */
  readonly table: dynamodb.ITable;
  /** The URL of the HTTP API. */
  readonly apiUrl: string;
  /** The id of the HTTP API. */
  readonly apiId: string;
  /** The bucket of records that the handler couldn't handle. */
  readonly failedRecordsBucketName: string;
  /** All outputs of the template, by their names. */
  readonly outputs: Readonly<Record<string, string>>;

  private readonly made = new Map<string, CfnResource>();

  constructor(scope: Construct, id: string, props: SapwoodProps = {}) {
    super(scope, id);
    const { table, outputs = true, ...given } = props;
    const template = read(asText(given.gradualDeployment ?? false) === "true" ? "gradual.json" : "template.json");
    const parameters = checked(template.Parameters, { ...given, ...(table && parametersOf(table, given)) });
    // Two constructs of one stack can't have one name. Only one has the stack's outputs, and elsewhere in the stack another may have this id.
    const ownName = scope === Stack.of(this) ? id : `${id}-${this.node.addr.slice(-8)}`;
    const stackName = outputs ? Aws.STACK_NAME : `${Aws.STACK_NAME}-${ownName}`;
    const standing = new Standing(template, parameters, stackName, (name, attribute) => {
      const resource = this.made.get(name);
      if (!resource) throw new Error(`the template refers to ${name}, which these parameters leave out`);
      return attribute === undefined ? Token.asString(resource.ref) : resource.getAtt(attribute);
    });
    const contradictions = standing.contradictions();
    if (contradictions.length > 0) throw new Error(contradictions.join("; "));

    const files = new Map<string, Asset>();
    const asset = (path: string) => {
      const there = files.get(path) ?? new Asset(this, path.replace(/[^A-Za-z0-9]/g, "-"), { path: join(FUNCTIONS, path) });
      files.set(path, there);
      return there;
    };
    const properties = new Map<string, Record<string, unknown>>();
    for (const name of standing.resources) {
      const { Type } = template.Resources[name]!;
      const holder = {};
      properties.set(name, holder);
      // The same name for every version of a function. What tells versions from one another is in the logical id.
      const versioned = Type === VERSION ? versionedBy(template, name) : undefined;
      this.made.set(name, resourceOf(this, versioned === undefined ? name : `${versioned}Version`, Type, holder));
    }
    for (const [name, version] of this.made) {
      if (version.cfnResourceType === VERSION) version.overrideLogicalId(versionId(version, this.made.get(versionedBy(template, name))!));
    }
    for (const name of standing.resources) {
      const { Type, Properties, Condition: _, DependsOn = [], DeletionPolicy, UpdateReplacePolicy, ...attributes } = template.Resources[name]!;
      const resource = this.made.get(name)!;
      // The resource keeps the object that it was given, and is synthesized later.
      Object.assign(properties.get(name)!, standing.resolved(placed(Type, Properties, asset)));
      for (const [attribute, value] of Object.entries(attributes)) resource.addOverride(attribute, standing.resolved(value));
      // As options of the resource, and no overrides, so that `applyRemovalPolicy` of an app has the last word.
      resource.cfnOptions.deletionPolicy = DeletionPolicy as CfnDeletionPolicy | undefined;
      // A version is kept in either case. The CDK warns of a resource that says one half of that.
      const whenReplaced = Type === VERSION ? DeletionPolicy : UpdateReplacePolicy;
      resource.cfnOptions.updateReplacePolicy = whenReplaced as CfnDeletionPolicy | undefined;
      for (const other of [DependsOn].flat()) resource.node.addDependency(this.made.get(other)!);
    }

    this.outputs = Object.fromEntries(standing.outputs.map(name => [name, Token.asString(standing.resolved(template.Outputs[name]!.Value))]));
    for (const [name, value] of outputs ? Object.entries(this.outputs) : []) {
      new CfnOutput(this, `Output${name}`, { value, description: template.Outputs[name]!.Description }).overrideLogicalId(name);
    }
    this.apiUrl = this.outputs["ApiUrl"]!;
    this.apiId = this.outputs["ApiId"]!;
    this.failedRecordsBucketName = this.outputs["FailedRecordsBucket"]!;
    const key = parameters["KmsKeyArn"];
    this.table = table ?? dynamodb.Table.fromTableAttributes(this, "OwnTable", {
      // For grants: who reads the table needs its key.
      ...(key && { encryptionKey: kms.Key.fromKeyArn(this, "Key", key) }),
      tableArn: this.outputs["TableArn"]!,
      tableStreamArn: this.outputs["TableStreamArn"]!,
    });
  }

  /** Lets somebody call the API with signed requests (`apiAuthorization: "AWS_IAM"`): all of it, or some methods and paths (`GET/*`). */
  grantInvoke(grantee: iam.IGrantable, ...routes: string[]): iam.Grant {
    const { partition, region, account } = Stack.of(this);
    const of = (routes.length > 0 ? routes : ["*/*"]).map(route => `arn:${partition}:execute-api:${region}:${account}:${this.apiId}/*/${route}`);
    return iam.Grant.addToPrincipal({ grantee, actions: ["execute-api:Invoke"], resourceArns: of });
  }

  /** A resource of the template, for what only an escape hatch can say (`addPropertyOverride`). */
  resource(name: string): CfnResource {
    const found = this.made.get(name);
    if (!found) throw new Error(`there is no resource ${name}: ${[...this.made.keys()].join(", ")}`);
    return found;
  }
}

/** A template of this package. */
function read(name: string): Template {
  return JSON.parse(readFileSync(join(FUNCTIONS, name), "utf8")) as Template;
}

/** The values of the template's parameters, which must be as it wants them. */
function checked(declared: Record<string, Parameter>, given: object): Record<string, string> {
  const values: Record<string, string> = Object.fromEntries(Object.entries(declared).map(([name, parameter]) => [name, parameter.Default]));
  for (const [property, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const name = property[0]!.toUpperCase() + property.slice(1);
    const parameter = Object.hasOwn(declared, name) ? declared[name]! : undefined;
    if (!parameter) throw new Error(`${property}: there is no such property`);
    values[name] = asText(value, parameter);
    if (Token.isUnresolved(value)) continue;
    const { AllowedValues: allowed, AllowedPattern: pattern } = parameter;
    if (allowed && !allowed.includes(values[name])) throw new Error(`${property}: ${values[name]} isn't one of ${allowed.join(", ")}`);
    if (pattern && !new RegExp(`^(?:${pattern})$`).test(values[name])) throw new Error(`${property}: ${values[name]} doesn't match ${pattern}`);
  }
  return values;
}

/** A property as the template's parameter has it. */
function asText(value: unknown, parameter?: Parameter): string {
  if (typeof value === "boolean") return parameter?.AllowedValues?.includes("on") ? (value ? "on" : "off") : String(value);
  return Array.isArray(value) ? value.join(",") : String(value);
}

/** The properties of a resource with uploaded files in the place of those that the package has. */
function placed(type: string, properties: Record<string, unknown>, asset: (path: string) => Asset): Record<string, unknown> {
  if (type === "AWS::Lambda::Function") {
    const { s3BucketName, s3ObjectKey } = asset((properties["Code"] as { S3Key: string }).S3Key);
    return { ...properties, Code: { S3Bucket: s3BucketName, S3Key: s3ObjectKey } };
  }
  if (type === "AWS::CloudFormation::Stack") {
    return { ...properties, TemplateURL: asset((properties["TemplateURL"] as string).split("/sapwood/")[1]!).httpUrl };
  }
  return properties;
}

/** The name of the function of which a version is. */
function versionedBy(template: Template, version: string): string {
  return (template.Resources[version]!.Properties["FunctionName"] as { Ref: string }).Ref;
}
