/** Resources of the template as constructs: with tags, and with ids of versions that follow their functions. */

import { createHash } from "node:crypto";
import { CfnResource, type CfnTag, type ITaggableV2, Lazy, Stack, TagManager, TagType } from "aws-cdk-lib";
import type { Construct } from "constructs";

/** The types of the template that have tags. All others have none. */
const TAGGED: Readonly<Record<string, TagType>> = {
  "AWS::ApiGatewayV2::Api": TagType.MAP,
  "AWS::ApiGatewayV2::Stage": TagType.MAP,
  "AWS::AppConfig::Application": TagType.STANDARD,
  "AWS::AppConfig::ConfigurationProfile": TagType.STANDARD,
  // CloudFormation passes a nested stack's tags on to its alarms and its dashboard.
  "AWS::CloudFormation::Stack": TagType.STANDARD,
  "AWS::CodeDeploy::Application": TagType.STANDARD,
  "AWS::CodeDeploy::DeploymentGroup": TagType.STANDARD,
  "AWS::DynamoDB::Table": TagType.STANDARD,
  "AWS::Events::Rule": TagType.STANDARD,
  "AWS::IAM::Role": TagType.STANDARD,
  "AWS::Lambda::EventSourceMapping": TagType.STANDARD,
  "AWS::Lambda::Function": TagType.STANDARD,
  "AWS::Logs::LogGroup": TagType.STANDARD,
  "AWS::S3::Bucket": TagType.STANDARD,
  "AWS::SNS::Topic": TagType.STANDARD,
  "AWS::SecretsManager::Secret": TagType.STANDARD,
};

/** Properties of a function that none of its versions holds. Lambda publishes no version for a change of these alone. */
const OF_THE_FUNCTION_ALONE = ["CodeSigningConfigArn", "RecursiveLoop", "ReservedConcurrentExecutions", "Tags", "TenancyConfig"];

/** A resource that `Tags.of(…)` reaches. */
class TaggedResource extends CfnResource implements ITaggableV2 {
  readonly cdkTagManager: TagManager;

  constructor(scope: Construct, id: string, type: string, kind: TagType, private readonly properties: Record<string, unknown>) {
    super(scope, id, { type, properties });
    this.cdkTagManager = new TagManager(kind, type, undefined, { tagPropertyName: "Tags" });
  }

  /** The properties with the template's own tags and those of the app. An app's tag replaces the template's of the same key. */
  protected override get cfnProperties(): Record<string, unknown> {
    const { Tags: own = [], ...rest } = this.properties;
    const added = this.cdkTagManager.renderTags() as CfnTag[] | Record<string, string> | undefined;
    if (added === undefined) return { ...this.properties };
    if (!Array.isArray(added)) return { ...rest, Tags: { ...(own as Record<string, string>), ...added } };
    const tags = added.map(({ key, value }) => ({ Key: key, Value: value }));
    const kept = (own as { Key: string }[]).filter(({ Key }) => !tags.some(tag => tag.Key === Key));
    return { ...rest, Tags: [...kept, ...tags] };
  }
}

/** A resource of a type, with properties that are filled in later. */
export function resourceOf(scope: Construct, id: string, type: string, properties: Record<string, unknown>): CfnResource {
  const kind = TAGGED[type];
  return kind === undefined ? new CfnResource(scope, id, { type, properties }) : new TaggedResource(scope, id, type, kind, properties);
}

/** The properties of a resource as the app's template has them: with the app's overrides, if they are there already. */
export function propertiesOf(resource: CfnResource): Record<string, unknown> {
  const { Resources } = Stack.of(resource).resolve(resource._toCloudFormation()) as { Resources: Record<string, { Properties?: Record<string, unknown> }> };
  return Object.values(Resources)[0]!.Properties ?? {};
}

/**
 * The logical id of a function's version, which is known once the app is complete. A version is a copy of the function that never changes: if
 * anything changes that it holds, by a property of the construct, by new code or by an override, the version is another resource. If nothing does,
 * it must be the same: Lambda publishes no second version of an unchanged function, and CloudFormation would fail.
 */
export function versionId(version: CfnResource, of: CfnResource): string {
  const before = Stack.of(version).getLogicalId(version);
  return Lazy.uncachedString({
    produce: () => {
      const held = Object.entries(propertiesOf(of)).filter(([name]) => !OF_THE_FUNCTION_ALONE.includes(name));
      // The archive's name has the hash of its content. The same content in another bucket is no new code.
      const plain = held.map(([name, value]) => [name, name === "Code" ? (value as { S3Key?: unknown }).S3Key ?? value : value]);
      const sorted = plain.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
      return `${before}${createHash("sha256").update(JSON.stringify(sorted)).digest("hex").slice(0, 10)}`;
    },
  });
}
