"""Sapwood, as docs/permissions-of-your-users.md has it: a grant is the attribute `viewers` of a folder."""

import json
import os
import shlex
import time
from urllib.parse import quote, urlencode

from peer import PATIENCE_SECONDS, Client, Peer, Refused, chunks

# Most operations of a batch, and most items of a page.
OPERATIONS_MAX = 100
PAGE_ITEMS_MAX = 1000

# The handler is at rest if it handles nothing for so long. A batch takes much less.
REST_SECONDS = 5

PARAMETERS = ("LinkAttributes=viewers", "NeverCopied=viewers")


class Sapwood(Peer):
    name = "Sapwood"
    written_things = ("item", "items")
    settled = "its rows have followed"

    def start(self, options=()):
        binary = shlex.split(os.environ["SAPWOOD"])
        parameters = [word for parameter in PARAMETERS for word in ("--parameter", parameter)]
        self.run([*binary, "dev", "--dynamodb", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json", *parameters, *options])
        listening = json.loads(self.wait_until(lambda: next(filter(lambda line: line.startswith("{"), self.lines()), None)))
        self.connect(listening["http"].rpartition(":")[2])
        self.table = Table(listening)

    def load(self, folders):
        for some in chunks(folders, OPERATIONS_MAX):
            operations = [{"put": {"id": folder, "parent": parent}} for folder, parent in some]
            for result in self.send("POST", "/batch", {"operations": operations})["results"]:
                if result.get("problem", {}).get("type") == "urn:sapwood:problem:too-deep":
                    raise Refused(result)
                if result["status"] != 201:
                    raise RuntimeError(result)

    def grant(self, folder, principal):
        self.send("PATCH", f"/nodes/{folder}", {"attributes": {"viewers": [principal]}})

    def move(self, folder, old, new):
        self.send("PATCH", f"/nodes/{folder}", {"parent": new})

    def check(self, folder, principal, fresh=False):
        # Every answer is as new as can be.
        return self.send("GET", f"/nodes/{folder}/granted?{urlencode({'attribute': 'viewers', 'principal': principal})}")["allowed"]

    def list(self, principal, fresh=False):
        """The grants of the principal, each checked before it is opened; then what is below each that isn't below another."""
        granted = {entry["id"]: entry["ancestors"] for entry in self.pages(f"/nodes/{quote(principal)}/links/viewers?ancestors=true")}
        tops = [folder for folder, ancestors in granted.items() if not granted.keys() & set(ancestors)]
        folders = []
        for top in filter(lambda top: self.check(top, principal), tops):
            folders += [top] + [entry["id"] for entry in self.pages(f"/nodes/{top}/descendants?")]
        return folders

    ways = {"": list}

    def settle(self):
        """Until the stream handler has nothing to do any more."""
        before, until = None, time.monotonic() + PATIENCE_SECONDS
        while before != (before := len(self.lines())):
            if time.monotonic() > until:
                raise RuntimeError("the stream handler doesn't come to rest")
            time.sleep(REST_SECONDS)

    def lines(self):
        """What the server has said: one line for each batch of records that the handler has handled."""
        return self.process.said().split("\n")[:-1]

    def written(self):
        return self.table.written()

    def pages(self, path):
        cursor = {}
        while True:
            page = self.send("GET", f"{path}&{urlencode({'limit': PAGE_ITEMS_MAX, **cursor})}")
            yield from page["items"]
            if "cursor" not in page:
                return
            cursor = {"cursor": page["cursor"]}

    def send(self, method, path, body=None):
        patch = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
        status, text = self.ask(method, path, body, patch)
        if status != 200:
            raise RuntimeError(f"{method} {path}: {status} {text}")
        return json.loads(text)


class Table(Client):
    """The table's stream, which has each change of an item. It counts the client's and the handler's alike."""

    SIGNATURE = "AWS4-HMAC-SHA256 Credential=x/20260101/x/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=0"

    def __init__(self, listening):
        super().__init__()
        self.connect(listening["dynamodb"].rpartition(":")[2])
        stream = self.call("ListStreams", TableName=listening["table"])["Streams"][0]["StreamArn"]
        shards = self.call("DescribeStream", StreamArn=stream)["StreamDescription"]["Shards"]
        self.shard = {"StreamArn": stream, "ShardId": shards[0]["ShardId"]}
        self.count, self.newest = 0, {"ShardIteratorType": "TRIM_HORIZON"}

    def written(self):
        iterator = self.call("GetShardIterator", **self.shard, **self.newest)["ShardIterator"]
        while iterator:
            answer = self.call("GetRecords", ShardIterator=iterator)
            records = [record["dynamodb"] for record in answer["Records"]]
            if not records:
                break
            # The engine makes a record of a write that changes nothing, too. AWS doesn't.
            self.count += sum(record.get("OldImage") != record.get("NewImage") for record in records)
            self.newest = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": records[-1]["SequenceNumber"]}
            iterator = answer.get("NextShardIterator")
        return self.count

    def call(self, operation, **body):
        headers = {"x-amz-target": f"DynamoDBStreams_20120810.{operation}", "x-amz-date": "20260101T000000Z", "authorization": self.SIGNATURE}
        status, text = self.ask("POST", "/", body, {**headers, "content-type": "application/x-amz-json-1.0"})
        if status != 200:
            raise RuntimeError(f"{operation}: {status} {text}")
        return json.loads(text)
