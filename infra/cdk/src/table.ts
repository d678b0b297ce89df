/** A table of the app's: whether it suits Sapwood, and which of the template's parameters follow from it. */

import { Token } from "aws-cdk-lib";
import * as dynamodb from "aws-cdk-lib/aws-dynamodb";
import type { SapwoodParameters } from "./parameters.js";
import { propertiesOf } from "./resources.js";

const IMAGES = "NEW_AND_OLD_IMAGES";
const NEEDED = "Sapwood reads a stream of new and old images";

/** What CloudFormation's types of tables have in common. */
interface TableProperties {
  AttributeDefinitions?: { AttributeName: string; AttributeType: string }[];
  KeySchema?: { AttributeName: string; KeyType: string }[];
  StreamSpecification?: { StreamViewType?: string };
  TimeToLiveSpecification?: { AttributeName?: string; Enabled?: boolean };
}

/** The parameters that follow from a table. It throws if the table doesn't suit, or the app says otherwise. */
export function parametersOf(table: dynamodb.ITable, given: SapwoodParameters): SapwoodParameters & { existingTableStreamArn: string } {
  const found = tableProperties(table);
  return {
    existingTableStreamArn: streamOf(table, found),
    // Without the key's permissions no function could read the table.
    ...(kmsKeyOf(table, given) && { kmsKeyArn: kmsKeyOf(table, given) }),
    ...(found && keysOf(found, given)),
    ...(found && ttlOf(found, given)),
  };
}

/** The properties of a table that this app makes. Of an imported table nothing is known. */
function tableProperties(table: dynamodb.ITable): TableProperties | undefined {
  const made = table.node.defaultChild;
  return made instanceof dynamodb.CfnTable || made instanceof dynamodb.CfnGlobalTable ? propertiesOf(made) : undefined;
}

/** The ARN of a table's stream, which must have new and old images. */
function streamOf(table: dynamodb.ITable, found?: TableProperties): string {
  if (table.tableStreamArn === undefined) {
    throw new Error(`the table has no stream. ${NEEDED}: set \`dynamoStream\` (Table: \`stream\`) to ${IMAGES}, or import the table by \`fromTableAttributes\` with \`tableStreamArn\``);
  }
  const images = found?.StreamSpecification?.StreamViewType;
  if (images !== undefined && images !== IMAGES) throw new Error(`the table's stream has ${images}. ${NEEDED}: ${IMAGES}`);
  return table.tableStreamArn;
}

function kmsKeyOf(table: dynamodb.ITable, given: SapwoodParameters): string | undefined {
  return given.kmsKeyArn ?? table.encryptionKey?.keyArn;
}

/** The names of a table's keys. */
function keysOf({ KeySchema, AttributeDefinitions = [] }: TableProperties, given: SapwoodParameters): SapwoodParameters {
  if (!Array.isArray(KeySchema)) return {};
  const key = (type: string, property: "partitionKey" | "sortKey", words: string): string => {
    const name = KeySchema.find(one => one.KeyType === type)?.AttributeName;
    if (name === undefined) throw new Error(`the table has no ${words}. Sapwood needs a partition key and a sort key, both strings (docs/reference/table.md): set \`${property}\` of the table`);
    const kind = AttributeDefinitions.find(one => one.AttributeName === name)?.AttributeType;
    if (kind !== undefined && kind !== "S") throw new Error(`the table's ${words} ${name} has the type ${kind}. Sapwood needs a string (S)`);
    return agreed(property, given[property], name);
  };
  return { partitionKey: key("HASH", "partitionKey", "partition key"), sortKey: key("RANGE", "sortKey", "sort key") };
}

/** The name of a table's TTL attribute. Without one, the owner may switch TTL on later. */
function ttlOf({ TimeToLiveSpecification: ttl }: TableProperties, given: SapwoodParameters): SapwoodParameters {
  if (ttl?.AttributeName === undefined || ttl.Enabled === false) return {};
  return { ttlAttribute: agreed("ttlAttribute", given.ttlAttribute, ttl.AttributeName) };
}

/** A name that the table has. The app may say it again. */
function agreed(property: string, said: string | undefined, found: string): string {
  if (said !== undefined && !Token.isUnresolved(said) && said !== found) {
    throw new Error(`${property}: the table has ${found}, not ${said}. Leave \`${property}\` out: it is taken from the table`);
  }
  return found;
}
