"""The events of tests/events, each invoked with `cargo lambda invoke`; after each, its answer and the whole table are checked.
Arguments: the watch's address and port, and the table's URL. It prints a line for each event and ends with `N passed; M failed;`."""

import base64
import json
import pathlib
import subprocess
import sys

import boto3

address, port, url = sys.argv[1:]
events = pathlib.Path("tests/events")
sys.path.append(str(events))
import oracle  # noqa: E402

# The story, and whether the table is right after each (tests/suites/stream_events.rs tells it, too).
STORY = [("insert", True), ("rename", True), ("move", False), ("cascade", False), ("touched", True)]
STORY += [(name, True) for name in ("revisions", "mixed", "bad-record", "remove", "expire")]

ADA = "arn:aws:sts::123456789012:assumed-role/Editors/ada"
ORDER = ("ORDER#98765", "NODE")
# What each request is answered, in this order, and what must be true of the answer's body and the table.
REQUESTS = [
    ("create-node", 201, lambda body, at: body["id"] == ORDER[0] and at[ORDER]["_created_by"] == {"S": ADA}),
    ("create-node-of-a-tenant", 409, lambda body, at: "already" in json.dumps(body)),
    ("create-node-base64", 201, lambda body, at: ("b64", "NODE") in at),
    # It asks to wait for its rows, which nobody makes here: 202.
    ("move-node", 202, lambda body, at: at[ORDER]["parent"] == {"S": "shop"}),
    ("append-revision", 201, lambda body, at: body["version"] == 1),
    # Repeated with its key: the same answer, and nothing is done twice.
    ("append-revision", 201, lambda body, at: body["version"] == 1 and not any("v002" in sk for pk, sk in at if pk == ORDER[0])),
    ("get-node", 200, lambda body, at: body["parent"] == "shop"),
    ("get-node-of-every-kind-of-byte", 404, lambda body, at: body["status"] == 404),
    # From the node itself on, two levels: it has no rows below it yet.
    ("list-descendants", 200, lambda body, at: [item["id"] for item in body["items"]] == [ORDER[0]]),
    ("list-descendants-by-prefix", 200, lambda body, at: body["items"] == []),
    ("decoded-slash", 404, lambda body, at: True),
    ("delete-subtree", 202, lambda body, at: "_leaving" in at[ORDER]),
]
REFUSED = ["decoded-number-sign", "decoded-question-mark", "decoded-space", "decoded-tree", "decoded-dots", "stray-percent"]
REQUESTS[11:11] = [(name, 400, lambda body, at: "~" in body["detail"]) for name in REFUSED]

client = boto3.client(
    "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
)
passed = failed = 0


def main():
    for name, right in STORY:
        file = events / f"{name}.json"
        for record in json.loads(file.read_text())["Records"]:
            write(record["dynamodb"])
        answer = invoke("stream-handler", file)
        differences = oracle.differences(contents())
        holds = answer == {"batchItemFailures": []} and (not differences) == right
        count(f"stream-handler {name}", holds, f"{answer}\n" + "\n".join(differences))
    client.put_item(TableName="sapwood", Item={"PK": {"S": "shop"}, "SK": {"S": "NODE"}})
    for name, status, is_right in REQUESTS:
        request(name, json.loads((events / "api" / f"{name}.json").read_text()), status, is_right)
    # Rows that the first function made, read by the second: all that is below W at the story's end.
    below = json.loads((events / "api" / "list-descendants.json").read_text())
    below["rawPath"] = below["requestContext"]["http"]["path"] = "/nodes/W/descendants"
    request("below W", below, 200, lambda body, at: [item["id"] for item in body["items"]] == ["W", "V", "d", "f"])
    every = {path.stem for path in events.glob("*.json")} | {f"api/{path.stem}" for path in events.glob("api/*.json")}
    sent = {name for name, _ in STORY} | {f"api/{name}" for name, _, _ in REQUESTS}
    count("every event is sent", every == sent, f"{every ^ sent}")
    print(f"{passed} passed; {failed} failed;")


def write(change):
    """Base records only; a record that doesn't say its key says nothing."""
    keys = change.get("Keys")
    if not keys or keys["SK"]["S"] in ("LINEAGE", "CASCADE"):
        return
    if "NewImage" in change:
        client.put_item(TableName="sapwood", Item=typed(change["NewImage"]))
    else:
        client.delete_item(TableName="sapwood", Key=keys)


def typed(value):
    """An image as boto3 takes it: binary as bytes."""
    if isinstance(value, dict):
        return {kind: base64.b64decode(v) if kind == "B" and isinstance(v, str) else typed(v) for kind, v in value.items()}
    return [typed(one) for one in value] if isinstance(value, list) else value


def request(name, event, status, is_right):
    reads = event["requestContext"]["http"]["method"] in ("GET", "HEAD")
    function = "api-reader" if reads else "api-writer"
    answer = invoke(function, event)
    text = answer.get("body") or "null"
    body = json.loads(base64.b64decode(text) if answer.get("isBase64Encoded") else text)
    at = {oracle.key(item): item for item in contents()}
    holds = answer.get("statusCode") == status and is_right(body, at)
    count(f"{function} {name}", holds, json.dumps(answer))


def invoke(function, event):
    data = ["--data-file", str(event)] if isinstance(event, pathlib.Path) else ["--data-ascii", json.dumps(event)]
    command = ["cargo", "lambda", "invoke", "--invoke-address", address, "--invoke-port", port, function, *data]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return {"failed": run.stdout + run.stderr}
    return json.loads(run.stdout)


def contents():
    pages = client.get_paginator("scan").paginate(TableName="sapwood", ConsistentRead=True)
    return [item for page in pages for item in page["Items"]]


def count(name, holds, otherwise):
    global passed, failed
    print(f"{'ok    ' if holds else 'FAILED'} {name}" + ("" if holds else f": {otherwise}"), flush=True)
    passed, failed = passed + holds, failed + (not holds)


main()
