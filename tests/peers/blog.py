"""The replication pattern of the post "Working With Hierarchy Data In DynamoDB": a node has a copy for each of its ancestors, with the relative
depth. `Blog` sends request for request what the post's own code sends for a move (https://github.com/jasonwadsworth/blog-code, the function
`updateParent`), one after another as there. `BlogByStream` does what the post advises instead: a move is one write, and the same requests follow
from the table's stream."""

import json
import multiprocessing
import shutil
import tempfile
import time
import zlib
from pathlib import Path

from dynamodb import BATCH_MAX, OLDEST, DynamoDb, Stream, command
from peer import PATIENCE_SECONDS, Peer, chunks

TABLE = "nodes-of-the-blog"
INDEX = "gsi1"
SCHEMA = {
    "TableName": TABLE,
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "relativeDepth", "AttributeType": "N"},
        {"AttributeName": "ancestorId", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "relativeDepth", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": INDEX,
            "KeySchema": [{"AttributeName": "ancestorId", "KeyType": "HASH"}, {"AttributeName": "relativeDepth", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
# The shards of a new table on demand. Lambda hands the records of an item to one of them, in order, and works on all at once.
LANES = 4
# How long a lane waits where nothing has come.
LOOK_SECONDS = 0.02


class Repository:
    """The post's requests, by one client."""

    def __init__(self, address):
        self.dynamodb = DynamoDb(address)

    def replicate(self, item):
        """The copies of a new node."""
        if "parentId" in item:
            for ancestor in self.ancestors(item["parentId"]["S"]):
                self.save(item, ancestor["ancestorId"], depth(ancestor) + 1)

    def update_parent(self, folder, new):
        for copy in self.ancestors(folder):
            self.set_parent(folder, copy["relativeDepth"], new)
        self.replace_ancestors(folder, new)

    def set_parent(self, folder, relative_depth, new):
        key = {"id": {"S": folder}, "relativeDepth": relative_depth}
        names, values = {"#parentId": "parentId"}, {":parentId": {"S": new}}
        update = {"UpdateExpression": "SET #parentId = :parentId", "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
        self.dynamodb.call("UpdateItem", TableName=TABLE, Key=key, **update)

    def replace_ancestors(self, folder, new):
        """For each node below: the copies for ancestors above the folder go, and those for the new ones come."""
        below, above = self.descendants(folder), self.ancestors(new)
        for node in below:
            for copy in self.ancestors(node["id"]["S"], depth(node) + 1):
                self.dynamodb.call("DeleteItem", TableName=TABLE, Key={name: copy[name] for name in ("id", "relativeDepth")})
            for ancestor in above:
                self.save(node, ancestor["ancestorId"], depth(ancestor) + depth(node) + 1)

    def save(self, node, ancestor, relative_depth):
        self.dynamodb.call("PutItem", TableName=TABLE, Item=copy_of(node, ancestor, relative_depth))

    def ancestors(self, folder, from_depth=0):
        """A node's copies, the node itself first."""
        return list(self.dynamodb.query(TableName=TABLE, **condition("id", folder, from_depth)))

    def descendants(self, folder, from_depth=0, to_depth=10**9):
        return list(self.dynamodb.query(TableName=TABLE, IndexName=INDEX, **condition("ancestorId", folder, from_depth, to_depth)))


def depth(copy):
    return int(copy["relativeDepth"]["N"])


def copy_of(node, ancestor, relative_depth):
    return {**node, "relativeDepth": {"N": str(relative_depth)}, "ancestorId": ancestor}


def condition(key, value, from_depth, to_depth=10**9):
    values = {":key": {"S": value}, ":from": {"N": str(from_depth)}, ":to": {"N": str(to_depth)}}
    expression = f"{key} = :key AND relativeDepth BETWEEN :from AND :to"
    return {"KeyConditionExpression": expression, "ExpressionAttributeValues": values}


class Blog(Peer):
    name = "replication in DynamoDB, a blog's code"
    written_things = ("item", "items")

    def start(self, options=()):
        self.run([*command(), "dev", "--no-handler", "--dynamodb", "127.0.0.1:0", "--json"])
        self.open(self.wait_until(self.listening)["dynamodb"])
        self.create()

    def listening(self):
        said = self.process.said()
        return json.loads(said.splitlines()[0]) if "\n" in said else None

    def open(self, address):
        self.address, self.repository = address, Repository(address)

    def create(self):
        self.repository.dynamodb.call("CreateTable", **SCHEMA)

    def twin(self):
        twin = type(self)()
        twin.open(self.address)
        return twin

    def load(self, folders):
        """The copies that the code makes, in fewer requests."""
        copies = []
        for folder, parent in folders:
            above = self.known.get(parent, [])
            self.known[folder] = [folder, *above]
            node = {"id": {"S": folder}, "name": {"S": folder}, **({"parentId": {"S": parent}} if parent else {})}
            copies += [copy_of(node, {"S": ancestor}, at) for at, ancestor in enumerate(self.known[folder])]
        for some in chunks(copies, BATCH_MAX):
            self.repository.dynamodb.call("BatchWriteItem", RequestItems={TABLE: [{"PutRequest": {"Item": item}} for item in some]})
            self.repository.dynamodb.items += len(some)

    def __init__(self):
        super().__init__()
        # A folder with all above it, as it was made.
        self.known = {}

    def move(self, folder, old, new):
        self.repository.update_parent(folder, new)

    def below(self, folder):
        return [item["id"]["S"] for item in self.repository.descendants(folder, 1)]

    def children(self, folder):
        return [item["id"]["S"] for item in self.repository.descendants(folder, 1, 1)]

    def written(self):
        return self.repository.dynamodb.items

    def trips(self):
        return self.repository.dynamodb.requests


class BlogByStream(Blog):
    name = "replication by the stream, as the blog advises"
    goes_on = True
    count, lanes = 0, ()

    def create(self):
        self.repository.dynamodb.call("CreateTable", **SCHEMA, **STREAM)
        self.directory = Path(tempfile.mkdtemp(prefix="peers-"))
        self.stream = Stream(self.address, TABLE, OLDEST)

    def load(self, folders):
        """The copies are there already when the handler begins to listen."""
        self.deafen()
        super().load(folders)
        self.listen()

    def move(self, folder, old, new):
        self.repository.set_parent(folder, {"N": "0"}, new)

    def written(self):
        """The client's and the handler's."""
        self.count += sum(1 for _ in self.stream.records())
        return self.count

    def trips(self):
        # The client's. The handler's requests are behind it.
        return self.repository.dynamodb.requests

    def settle(self):
        until = time.monotonic() + PATIENCE_SECONDS
        before = None
        while before != (before := self.written()):
            while any(position(file) < int(self.stream.newest.get("SequenceNumber", 0)) for file in self.files()):
                if time.monotonic() > until:
                    raise RuntimeError("the handler doesn't come to rest")
                time.sleep(LOOK_SECONDS)

    def listen(self, since=None):
        """Starts the lanes: where they were, or from what `since` says."""
        if since is None:
            self.written()
            since = self.stream.newest
        for file in self.files():
            file.write_text(json.dumps(since))
        self.wake()

    def wake(self):
        fork = multiprocessing.get_context("fork")
        self.lanes = [fork.Process(target=work, args=(self.address, lane, file), daemon=True) for lane, file in enumerate(self.files())]
        for lane in self.lanes:
            lane.start()

    def deafen(self):
        for lane in self.lanes:
            lane.kill()
            lane.join()

    def move_and_kill(self, folder, old, new, seconds):
        """Kills the handler."""
        self.move(folder, old, new)
        time.sleep(seconds)
        self.deafen()
        self.wake()
        return True

    def deliver_again(self):
        """Every event of the table comes once more."""
        self.deafen()
        self.listen(OLDEST)

    def lose(self, act):
        """Does something of which no event arrives."""
        self.deafen()
        act()
        self.listen()

    def files(self):
        return [self.directory / str(lane) for lane in range(LANES)]

    def stop(self):
        if self.process:
            self.deafen()
            shutil.rmtree(self.directory)
        super().stop()


def position(file):
    return int(json.loads(file.read_text()).get("SequenceNumber", 0))


def work(address, lane, file):
    """The handler of one lane: the records of its items, in order, and no others. What was under way when it ended comes again."""
    stream, repository = Stream(address, TABLE, json.loads(file.read_text())), Repository(address)
    while True:
        for record in stream.records():
            change = record["dynamodb"]
            folder = change["Keys"]["id"]["S"]
            if zlib.crc32(folder.encode()) % LANES == lane and change["Keys"]["relativeDepth"]["N"] == "0":
                handle(repository, record["eventName"], folder, change.get("OldImage", {}), change.get("NewImage", {}))
        replaced = file.with_suffix(".new")
        replaced.write_text(json.dumps(stream.newest))
        replaced.rename(file)
        time.sleep(LOOK_SECONDS)


def handle(repository, event, folder, old, new):
    """What the post says to do for each event of a node."""
    if event == "INSERT":
        repository.replicate(new)
    elif event == "MODIFY" and old.get("parentId") != new.get("parentId"):
        for copy in repository.ancestors(folder, 1):
            repository.set_parent(folder, copy["relativeDepth"], new["parentId"]["S"])
        repository.replace_ancestors(folder, new["parentId"]["S"])
