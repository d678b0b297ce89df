// Calls of DynamoDB without a client of AWS.
'use strict';

const AUTHORIZATION = 'AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0';

async function dynamodb(stack, call, asked) {
  const headers = {
    'x-amz-target': `DynamoDB_20120810.${call}`,
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-date': '20261121T090500Z',
    authorization: AUTHORIZATION,
  };
  const answer = await fetch(stack.dynamodb, { method: 'POST', headers, body: JSON.stringify({ TableName: stack.table, ...asked }) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(JSON.stringify(said));
  return said;
}

function put(stack, id, attributes = {}) {
  const item = { PK: id, SK: 'NODE', ...attributes };
  return dynamodb(stack, 'PutItem', { Item: Object.fromEntries(Object.entries(item).map(([name, value]) => [name, { S: value }])) });
}

async function below(stack, id) {
  const values = { ':id': { S: id }, ':node': { S: 'NODE#' } };
  const asked = { KeyConditionExpression: 'PK = :id AND begins_with(SK, :node)', ExpressionAttributeValues: values };
  return (await dynamodb(stack, 'Query', asked)).Items.map((item) => item.SK.S);
}

async function count(stack) {
  return (await dynamodb(stack, 'Scan', {})).Count;
}

module.exports = { below, count, put };
