// An app with the construct of infra/cdk, for construct.py: node trees.js CASES DIRECTORY synthesizes an app for each case, into a directory of
// its own, and prints which are refused and why. With SAPWOOD_CASE it is the app of one case, for the CDK's own command.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const cdk = require("aws-cdk-lib");
const dynamodb = require("aws-cdk-lib/aws-dynamodb");
const iam = require("aws-cdk-lib/aws-iam");
const kms = require("aws-cdk-lib/aws-kms");
const { Construct } = require("constructs");
const { Sapwood } = require("@sapwood/cdk");

// A table with keys of other names, types or attributes than Sapwood's own.
const other = (stack, { sort = { name: "sk", type: dynamodb.AttributeType.STRING }, ...more } = {}) => new dynamodb.TableV2(stack, "Table", {
  partitionKey: { name: "pk", type: dynamodb.AttributeType.STRING },
  ...(sort && { sortKey: sort }),
  dynamoStream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
  ...more,
});

function app({ props = {}, table, constructs = ["Trees"], under = [], bucket, url, destroyed, origin, tags = {}, overrides = {} }, outdir) {
  const context = { "aws:cdk:enable-path-metadata": true, "aws:cdk:disable-stack-trace": true };
  const made = new cdk.App({ ...(outdir && { outdir }), context, analyticsReporting: false });
  // The command's own roles and bucket are made by `cdk bootstrap`, which a rehearsal doesn't have.
  const synthesizer = bucket && new cdk.CliCredentialsStackSynthesizer({ fileAssetsBucketName: bucket });
  const stack = new cdk.Stack(made, "App", { ...(synthesizer && { synthesizer }) });
  const tables = {
    own: () => new dynamodb.TableV2(stack, "Table", {
      partitionKey: { name: "PK", type: dynamodb.AttributeType.STRING },
      sortKey: { name: "SK", type: dynamodb.AttributeType.STRING },
      dynamoStream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    }),
    half: () => new dynamodb.TableV2(stack, "Table", {
      partitionKey: { name: "PK", type: dynamodb.AttributeType.STRING },
      dynamoStream: dynamodb.StreamViewType.NEW_IMAGE,
    }),
    locked: () => new dynamodb.Table(stack, "Table", {
      partitionKey: { name: "PK", type: dynamodb.AttributeType.STRING },
      sortKey: { name: "SK", type: dynamodb.AttributeType.STRING },
      stream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
      encryptionKey: new kms.Key(stack, "TableKey"),
    }),
    lower: () => other(stack, { timeToLiveAttribute: "ttl" }),
    "lower, Table": () => new dynamodb.Table(stack, "Table", {
      partitionKey: { name: "pk", type: dynamodb.AttributeType.STRING },
      sortKey: { name: "sk", type: dynamodb.AttributeType.STRING },
      timeToLiveAttribute: "ttl",
      stream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    }),
    unsorted: () => other(stack, { sort: null }),
    numbered: () => other(stack, { sort: { name: "sk", type: dynamodb.AttributeType.NUMBER } }),
    deaf: () => new dynamodb.Table(stack, "Table", { partitionKey: { name: "PK", type: dynamodb.AttributeType.STRING } }),
    existing: arn => dynamodb.Table.fromTableAttributes(stack, "Table", { tableArn: arn.split("/stream/")[0], tableStreamArn: arn }),
  };
  const given = table && (tables[table] ? tables[table]() : tables.existing(table));
  // An origin that is known only when the stack is deployed.
  if (origin) props.corsOrigins = ["http://localhost:5173", `https://${new cdk.CfnParameter(stack, "Domain").valueAsString}`];
  for (const [position, name] of constructs.entries()) {
    const parent = under[position] ? new Construct(stack, under[position]) : stack;
    const trees = new Sapwood(parent, name, { ...props, ...(given && { table: given }), ...((position > 0 || under.length > 0) && { outputs: false }) });
    for (const [key, value] of Object.entries(tags)) cdk.Tags.of(trees).add(key, value);
    for (const [resource, changed] of Object.entries(overrides)) {
      for (const [path, value] of Object.entries(changed)) trees.resource(resource).addPropertyOverride(path, value);
    }
    const role = new iam.Role(parent, `${name}Caller`, { assumedBy: new iam.AccountPrincipal("111122223333") });
    trees.grantInvoke(role, "GET/*");
    trees.table.grantReadData(role);
    if (destroyed) trees.resource("Table").applyRemovalPolicy(cdk.RemovalPolicy.DESTROY);
    if (url) {
      for (const name of ["StreamHandler", "ApiReader", "ApiWriter", "Auditor"]) {
        trees.resource(name).addPropertyOverride("Environment.Variables.AWS_ENDPOINT_URL", url);
      }
    }
  }
  return made;
}

if (process.env.SAPWOOD_CASE) {
  app(JSON.parse(process.env.SAPWOOD_CASE)).synth();
} else {
  const refused = {};
  for (const [name, given] of Object.entries(JSON.parse(readFileSync(process.argv[2], "utf8")))) {
    try {
      app(given, join(process.argv[3], name)).synth();
    } catch (error) {
      refused[name] = error.message;
    }
  }
  console.log(JSON.stringify(refused));
}
