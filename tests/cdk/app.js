// The CDK code of docs/operate/package-cdk-terraform.md, word for word, synthesized: CfnInclude fails as the page says, and the nested stack has what it
// needs. node app.js
"use strict";
const assert = require("node:assert/strict");
const { mkdtempSync, readFileSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");
const cdk = require("aws-cdk-lib");
const dynamodb = require("aws-cdk-lib/aws-dynamodb");
const assets = require("aws-cdk-lib/aws-s3-assets");
const { CfnInclude } = require("aws-cdk-lib/cloudformation-include");

const root = process.env.SAPWOOD_ROOT ?? resolve(__dirname, "../..");
const page = readFileSync(join(root, "docs/operate/package-cdk-terraform.md"), "utf8");
const code = page.match(/^```js\n(.*?)^```$/ms)[1];
const template = readFileSync(join(root, "template.yaml"), "utf8");
const directory = mkdtempSync(join(tmpdir(), "cdk-"));
process.chdir(directory);
writeFileSync("sapwood.packaged.yaml", template);

function synthesized(make) {
  const app = new cdk.App({ outdir: mkdtempSync(join(directory, "out-")) });
  const stack = new cdk.Stack(app, "App", { env: { account: "111122223333", region: "eu-central-1" } });
  make(stack);
  const assembly = app.synth();
  const { files } = JSON.parse(readFileSync(join(assembly.directory, "App.assets.json"), "utf8"));
  return { template: assembly.getStackByName("App").template, uploaded: Object.keys(files).filter((id) => files[id].source.path.startsWith("asset.")) };
}

const includes = (stack) => {
  stack.addTransform("AWS::Serverless-2016-10-31");
  new CfnInclude(stack, "Sapwood", { templateFile: join(root, "template.yaml") });
};
assert.throws(() => synthesized(includes), /Found a cycle between resources/);
console.log("CfnInclude fails as the page says");

const stack = synthesized((stack) => new Function("cdk", "dynamodb", "assets", "stack", code)(cdk, dynamodb, assets, stack));
const resources = Object.values(stack.template.Resources);
const only = (type) => {
  const found = resources.filter((resource) => resource.Type === type);
  assert.equal(found.length, 1, type);
  return found[0].Properties;
};
const table = only("AWS::DynamoDB::GlobalTable");
assert.deepEqual(table.StreamSpecification, { StreamViewType: "NEW_AND_OLD_IMAGES" });
assert.deepEqual(table.KeySchema.map((key) => key.AttributeName), ["PK", "SK"]);
const nested = only("AWS::CloudFormation::Stack");
assert.equal(nested.Parameters.ExistingTableStreamArn["Fn::GetAtt"][1], "StreamArn");
// The template is uploaded as it is, and its URL is one that CloudFormation reads.
const url = nested.TemplateURL["Fn::Sub"];
assert.equal(stack.uploaded.length, 1);
assert.ok(url.startsWith("https://s3.") && url.endsWith(`/${stack.uploaded[0]}.yaml`), url);
const known = new Set([...template.split("\nConditions:\n")[0].matchAll(/^ {2}([A-Z]\w+):$/gm)].map((match) => match[1]));
for (const name of Object.keys(nested.Parameters)) assert.ok(known.has(name), `${name} is no parameter of the template`);
const outputs = template.split("\nOutputs:\n")[1];
for (const { Value } of Object.values(stack.template.Outputs)) {
  assert.match(outputs, new RegExp(`^ {2}${Value["Fn::GetAtt"][1].split(".")[1]}:$`, "m"));
}
console.log("the nested stack is synthesized");
console.log("test result: ok. 2 passed; 0 failed;");
