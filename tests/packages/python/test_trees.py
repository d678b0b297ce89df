"""Twenty tests as a user writes them, each with a stack of its own."""

import json
import urllib.request

import pytest

AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"


def dynamodb(stack, call, **asked):
    """A call of DynamoDB, as any client makes it."""
    headers = {"x-amz-target": f"DynamoDB_20120810.{call}", "content-type": "application/x-amz-json-1.0", "authorization": AUTHORIZATION}
    headers["x-amz-date"] = "20261121T090500Z"
    body = json.dumps({"TableName": stack.table} | asked).encode()
    with urllib.request.urlopen(urllib.request.Request(stack.dynamodb, body, headers)) as answer:
        return json.load(answer)


def put(stack, id, **attributes):
    item = {"PK": id, "SK": "NODE"} | attributes
    dynamodb(stack, "PutItem", Item={name: {"S": value} for name, value in item.items()})


def below(stack, id):
    values = {":id": {"S": id}, ":node": {"S": "NODE#"}}
    found = dynamodb(stack, "Query", KeyConditionExpression="PK = :id AND begins_with(SK, :node)", ExpressionAttributeValues=values)
    return [item["SK"]["S"] for item in found["Items"]]


def children(stack, id):
    """The ids of the children, in the order that the table keeps."""
    with urllib.request.urlopen(f"{stack.api}/nodes/{id}/children?order=asc") as answer:
        return [item["id"] for item in json.load(answer)["items"]]


@pytest.mark.parametrize("depth", range(1, 18))
def test_a_chain_has_a_row_for_each_level(sapwood, depth):
    assert dynamodb(sapwood, "Scan")["Count"] <= 1, "the table isn't empty but for the handler's settings"
    for n in range(depth + 1):
        put(sapwood, f"n{n}", **({"parent": f"n{n - 1}"} if n else {}))
    sapwood.catch_up()
    assert below(sapwood, "n0") == [f"NODE#{n:04}#n{n}" for n in range(1, depth + 1)]


@pytest.mark.sapwood(OrderAttribute="rank")
def test_children_come_in_their_order(sapwood):
    put(sapwood, "D")
    put(sapwood, "a", parent="D", rank="2")
    put(sapwood, "b", parent="D", rank="1")
    sapwood.catch_up()
    assert children(sapwood, "D") == ["b", "a"]


def test_a_move_takes_what_is_below(sapwood):
    put(sapwood, "C")
    put(sapwood, "D")
    put(sapwood, "V", parent="D")
    put(sapwood, "d", parent="V")
    sapwood.catch_up()
    put(sapwood, "V", parent="C")
    sapwood.catch_up()
    assert below(sapwood, "C") == ["NODE#0001#V", "NODE#0002#d"]
    assert below(sapwood, "D") == []


def test_clients_of_aws_get_what_they_need(sapwood):
    assert sapwood.client_options["endpoint_url"] == sapwood.environment["AWS_ENDPOINT_URL_DYNAMODB"] == sapwood.dynamodb
    assert sapwood.environment["TABLE_NAME"] == sapwood.table
