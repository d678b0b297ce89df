// A question as code. Every text is escaped as its language does it, so that what is copied is what was asked.
import { node, segment, UNSEEN } from './base.js';

/** The languages, in the order in which they are shown. */
export const LANGUAGES = [
  ['key', 'Key condition', keyCondition], ['aws', 'AWS CLI', aws], ['boto3', 'Python (boto3)', boto3], ['js', 'JavaScript', javascript], ['rust', 'Rust', rust], ['curl', 'HTTP (curl)', curl],
];

const ESCAPED = new RegExp(`[${UNSEEN}]`, 'g');
const ESCAPED_IN_RUST = new RegExp(`[\\u0000-\\u001f${UNSEEN}]`, 'g');

/** A text in JSON, JavaScript and Python alike. What can't be seen is escaped. */
export const literal = (text) => JSON.stringify(text).replace(ESCAPED, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

const json = (value) => (typeof value === 'string' ? literal(value)
  : Array.isArray(value) ? `[${value.map(json).join(', ')}]`
    : value !== null && typeof value === 'object' ? `{${Object.entries(value).map(([name, one]) => `${literal(name)}: ${json(one)}`).join(', ')}}` : JSON.stringify(value));

/** A word of a shell. */
export const word = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const rusts = (text) => `"${text.replace(/["\\]/g, '\\$&').replace(ESCAPED_IN_RUST, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`)}"`;

/** The parts of a Query that all languages have. */
function expressions(asked, keys) {
  const names = { '#pk': keys.pk, '#sk': keys.sk };
  const values = { ':pk': asked.pk, ':from': asked.from };
  let condition = '#pk = :pk AND begins_with(#sk, :from)';
  if (asked.to !== null) {
    values[':to'] = asked.to;
    condition = '#pk = :pk AND #sk BETWEEN :from AND :to';
  }
  if (asked.without) names['#copy'] = asked.without;
  return { names, values, condition, filter: asked.without ? 'attribute_not_exists(#copy)' : null };
}

function keyCondition(asked, about) {
  const { keys } = about;
  if (asked.call === 'GetItem') return `GetItem\n${keys.pk} = ${literal(asked.pk)}\n${keys.sk} = ${literal(asked.from)}`;
  const range = asked.to === null ? `begins_with(${keys.sk}, ${literal(asked.from)})` : `${keys.sk} BETWEEN ${literal(asked.from)} AND ${literal(asked.to)}`;
  return [`Query`, `${keys.pk} = ${literal(asked.pk)} AND ${range}`, asked.without ? `filter: attribute_not_exists(${asked.without})` : '', asked.descending ? 'descending' : ''].filter(Boolean).join('\n');
}

const typed = (map) => Object.fromEntries(Object.entries(map).map(([name, text]) => [name, { S: text }]));

function aws(asked, about) {
  const where = [about.endpoint && `--endpoint-url ${word(about.endpoint)}`, about.region && `--region ${word(about.region)}`, about.profile && `--profile ${word(about.profile)}`];
  const lines = [`aws dynamodb ${asked.call === 'GetItem' ? 'get-item' : 'query'} --table-name ${word(about.table)}`, ...where.filter(Boolean)];
  if (asked.call === 'GetItem') lines.push(`--key ${word(json(typed({ [about.keys.pk]: asked.pk, [about.keys.sk]: asked.from })))}`);
  else {
    const { names, values, condition, filter } = expressions(asked, about.keys);
    lines.push(`--key-condition-expression ${word(condition)}`, `--expression-attribute-names ${word(json(names))}`, `--expression-attribute-values ${word(json(typed(values)))}`);
    if (filter) lines.push(`--filter-expression ${word(filter)}`);
    if (asked.descending) lines.push('--no-scan-index-forward');
    lines.push(`--limit ${asked.limit}`, '--no-paginate');
  }
  if (asked.strong) lines.push('--consistent-read');
  return lines.join(' \\\n  ');
}

const python = (value) => (value === true ? 'True' : value === false ? 'False' : json(value));

function boto3(asked, about) {
  const given = [about.endpoint && `endpoint_url=${literal(about.endpoint)}`, about.region && `region_name=${literal(about.region)}`].filter(Boolean).join(', ');
  const session = about.profile ? `boto3.Session(profile_name=${literal(about.profile)})` : 'boto3';
  const head = `import boto3\n\ntable = ${session}.resource(${['"dynamodb"', given].filter(Boolean).join(', ')}).Table(${literal(about.table)})\n`;
  const strong = asked.strong ? '\n    ConsistentRead=True,' : '';
  if (asked.call === 'GetItem') {
    return `${head}answer = table.get_item(\n    Key=${json({ [about.keys.pk]: asked.pk, [about.keys.sk]: asked.from })},${strong}\n)\nprint(answer.get("Item"))\n`;
  }
  const { names, values, condition, filter } = expressions(asked, about.keys);
  const more = [filter && `FilterExpression=${literal(filter)},`, asked.descending && `ScanIndexForward=${python(false)},`].filter(Boolean).map((line) => `\n    ${line}`).join('');
  return `${head}answer = table.query(\n    KeyConditionExpression=${literal(condition)},\n    ExpressionAttributeNames=${json(names)},\n    ExpressionAttributeValues=${json(values)},${more}${strong}\n    Limit=${asked.limit},\n)\nfor item in answer["Items"]:\n    print(item)\nif "LastEvaluatedKey" in answer:\n    print("There is more: ask again with ExclusiveStartKey =", answer["LastEvaluatedKey"])\n`;
}

function javascript(asked, about) {
  const given = [about.region && `region: ${literal(about.region)}`, about.endpoint && `endpoint: ${literal(about.endpoint)}`, about.profile && `profile: ${literal(about.profile)}`].filter(Boolean).join(', ');
  const call = asked.call === 'GetItem' ? 'GetCommand' : 'QueryCommand';
  const head = `import { DynamoDBClient } from "@aws-sdk/client-dynamodb";\nimport { DynamoDBDocumentClient, ${call} } from "@aws-sdk/lib-dynamodb";\n\nconst client = DynamoDBDocumentClient.from(new DynamoDBClient({${given ? ` ${given} ` : ''}}));\n`;
  const strong = asked.strong ? '\n  ConsistentRead: true,' : '';
  if (asked.call === 'GetItem') {
    return `${head}const { Item } = await client.send(new GetCommand({\n  TableName: ${literal(about.table)},\n  Key: ${json({ [about.keys.pk]: asked.pk, [about.keys.sk]: asked.from })},${strong}\n}));\nconsole.log(Item);\n`;
  }
  const { names, values, condition, filter } = expressions(asked, about.keys);
  const more = [filter && `FilterExpression: ${literal(filter)},`, asked.descending && 'ScanIndexForward: false,'].filter(Boolean).map((line) => `\n  ${line}`).join('');
  return `${head}const { Items, LastEvaluatedKey } = await client.send(new QueryCommand({\n  TableName: ${literal(about.table)},\n  KeyConditionExpression: ${literal(condition)},\n  ExpressionAttributeNames: ${json(names)},\n  ExpressionAttributeValues: ${json(values)},${more}${strong}\n  Limit: ${asked.limit},\n}));\nconsole.log(Items);\nif (LastEvaluatedKey) console.log("There is more: ask again with ExclusiveStartKey =", LastEvaluatedKey);\n`;
}

function rust(asked, about) {
  const text = (value) => `AttributeValue::S(${rusts(value)}.into())`;
  const chain = (...calls) => calls.filter(Boolean).map((call) => `\n    ${call}`).join('');
  const config = chain(about.profile && `.profile_name(${rusts(about.profile)})`, about.region && `.region(aws_config::Region::new(${rusts(about.region)}))`,
    about.endpoint && `.endpoint_url(${rusts(about.endpoint)})`, '.load()', '.await');
  const head = `use aws_sdk_dynamodb::{Client, types::AttributeValue};\n\nlet config = aws_config::defaults(aws_config::BehaviorVersion::latest())${config};\nlet client = Client::new(&config);\n`;
  const strong = asked.strong && '.consistent_read(true)';
  if (asked.call === 'GetItem') {
    const calls = chain('.get_item()', `.table_name(${rusts(about.table)})`, `.key(${rusts(about.keys.pk)}, ${text(asked.pk)})`, `.key(${rusts(about.keys.sk)}, ${text(asked.from)})`, strong, '.send()', '.await?');
    return `${head}let answer = client${calls};\nprintln!("{:?}", answer.item());\n`;
  }
  const { names, values, condition, filter } = expressions(asked, about.keys);
  const calls = chain('.query()', `.table_name(${rusts(about.table)})`, `.key_condition_expression(${rusts(condition)})`,
    ...Object.entries(names).map(([name, value]) => `.expression_attribute_names(${rusts(name)}, ${rusts(value)})`),
    ...Object.entries(values).map(([name, value]) => `.expression_attribute_values(${rusts(name)}, ${text(value)})`),
    filter && `.filter_expression(${rusts(filter)})`, asked.descending && '.scan_index_forward(false)', strong, `.limit(${asked.limit})`, '.send()', '.await?');
  return `${head}let answer = client${calls};\nprintln!("{:?}", answer.items());\nif let Some(next) = answer.last_evaluated_key() {\n    println!("There is more: ask again with exclusive_start_key {next:?}");\n}\n`;
}

function curl(asked, about, question) {
  const of = (rest) => node(question.id ?? '', rest);
  const query = (map) => {
    const all = Object.entries(map).filter(([, value]) => value !== undefined && value !== '' && value !== null);
    return all.length ? `?${new URLSearchParams(all)}` : '';
  };
  const desc = asked.descending ? 'desc' : 'asc';
  const target = {
    below: () => of(`/descendants${query({ min_depth: question.from, max_depth: question.to, limit: asked.limit })}`),
    children: () => of(`/children${query({ order: about.order.length ? desc : undefined, limit: asked.limit })}`),
    path: () => `/paths/${segment(question.id ?? '')}${(question.path ?? '').split('/').filter(Boolean).map((one) => `/${segment(one)}`).join('')}${query({ limit: asked.limit })}`,
    links: () => of(`/links/${segment(question.attribute ?? '')}${query({ limit: asked.limit })}`),
    latest: () => of(`/latest${query({ topic_prefix: question.topic, limit: asked.limit })}`),
    newest: () => of(`/latest/${segment(question.topic ?? '')}`),
    history: () => of(`/revisions${query({ order: desc, limit: asked.limit })}`),
    ancestors: () => of('/ancestors'),
    record: () => of(''),
    roots: () => `/roots${query({ limit: asked.limit })}`,
    trash: () => `/trash${query({ limit: asked.limit })}`,
  }[question.kind]();
  const api = about.live && location.host && location.origin;
  return api ? `curl ${word(api + target)}` : `# $api is the stack’s ApiUrl; a deployed API wants its requests signed.\ncurl "$api"${word(target)}`;
}
