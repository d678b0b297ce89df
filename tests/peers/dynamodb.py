"""DynamoDB as `sapwood dev` serves it, and a client of it that counts its requests, and the items that they write."""

import json
import os
import shlex

from peer import Client

SIGNATURE = "AWS4-HMAC-SHA256 Credential=x/20260101/x/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=0"
# Most items of a request.
BATCH_MAX = 25


def command():
    """The binary."""
    return shlex.split(os.environ["SAPWOOD"])


class DynamoDb(Client):
    """A client of the table API, or of the streams API."""

    def __init__(self, address, api="DynamoDB_20120810"):
        super().__init__()
        self.address, self.api, self.items = address, api, 0
        self.connect(address.rpartition(":")[2])

    def call(self, operation, **body):
        self.items += operation in ("PutItem", "UpdateItem", "DeleteItem")
        headers = {"x-amz-target": f"{self.api}.{operation}", "x-amz-date": "20260101T000000Z", "authorization": SIGNATURE}
        status, text = self.ask("POST", "/", body, {**headers, "content-type": "application/x-amz-json-1.0"})
        if status != 200:
            raise RuntimeError(f"{operation}: {status} {text}")
        return json.loads(text)

    def query(self, **body):
        """All pages."""
        start = {}
        while True:
            page = self.call("Query", **body, **start)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


# Where a stream begins.
OLDEST = {"ShardIteratorType": "TRIM_HORIZON"}


class Stream:
    """Reads the stream of a table, which has one shard there. What was read is kept as a position, from which another reader can go on."""

    def __init__(self, address, table, newest):
        self.client = DynamoDb(address, "DynamoDBStreams_20120810")
        stream = self.client.call("ListStreams", TableName=table)["Streams"][0]["StreamArn"]
        shards = self.client.call("DescribeStream", StreamArn=stream)["StreamDescription"]["Shards"]
        self.shard = {"StreamArn": stream, "ShardId": shards[0]["ShardId"]}
        self.newest = newest

    def records(self):
        """What has come since the last look."""
        iterator = self.client.call("GetShardIterator", **self.shard, **self.newest)["ShardIterator"]
        while iterator:
            answer = self.client.call("GetRecords", ShardIterator=iterator)
            if not (records := answer["Records"]):
                return
            for record in records:
                # The engine makes a record of a write that changes nothing, too. AWS doesn't.
                if record["dynamodb"].get("OldImage") != record["dynamodb"].get("NewImage"):
                    yield record
            self.newest = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": records[-1]["dynamodb"]["SequenceNumber"]}
            iterator = answer.get("NextShardIterator")
