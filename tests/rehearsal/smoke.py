"""infra/smoke as a user runs it, on `sapwood dev`, and whether it notices what is wrong. The suite `deployment` runs it on a deployed stack, which has
the defaults but for one parameter."""

import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from unittest.mock import patch

import boto3

from oracle import Oracle
from process import Process, free_port
from table import Table
from templates import FULL, ROOT

SMOKE = ROOT / "infra" / "smoke"
# Another stack's parameters, and how the script is told of them without a stack.
OTHER = {
    "PartitionKey": ("pk", "--partition-key"),
    "SortKey": ("sk", "--sort-key"),
    "NodeSortKey": ("METADATA", "--node-sort-key"),
    "ParentAttribute": ("up", "--parent-attribute"),
    "SegmentAttribute": ("label", "--segment-attribute"),
    "PathRows": ("off", "--path-rows"),
    "RootRows": ("off", "--root-rows"),
    "CopiedAttributes": ("name,size", "--copied-attributes"),
    "NeverCopied": ("size", "--never-copied"),
    "OrderAttribute": ("size", "--order-attribute"),
    "LinkAttributes": ("tags,seen", "--link-attributes"),
}
# Every kind of rows at once. Ordered roots and links to ids that aren't the run's stand in partitions of their own.
EVERY_KIND = {"OrderAttribute": ("name", "--order-attribute"), "LinkAttributes": ("tags,seen", "--link-attributes")}
MOVED = "two nested subtrees move at once ... ok"
# For rows that have to come: beside tests that take both processors they are slow.
PATIENT = ("--patience", "300")
in_full = unittest.skipUnless(FULL, "another run of the script takes long")


class Closed:
    """An API that refuses everybody, as API Gateway does where a token is missing."""

    def __enter__(self):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(401)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Smoke(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        cls.environment["AWS_EC2_METADATA_DISABLED"] = "true"

    def stack(self, *options):
        """Starts a local stack, and returns its table and what names it."""
        dev = [os.environ["SAPWOOD_BINARY"], "dev", "--dynamodb", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json", *options]
        process = Process(dev, ROOT, self.environment)
        self.addCleanup(process.stop)
        said = process.wait_until(lambda: re.search('"dynamodb":"([^"]+)".*"http":"([^"]+)"', process.said()))
        client = boto3.client("dynamodb", "us-east-1", endpoint_url=said[1], aws_access_key_id="local", aws_secret_access_key="local")
        return Table(client, "sapwood", Oracle()), ["--table", "sapwood", "--endpoint", said[1], "--api", said[2]]

    def start(self, *arguments):
        command = [sys.executable, SMOKE, *arguments]
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def run_to_its_end(self, *arguments):
        process = self.start(*arguments)
        said = process.communicate(timeout=600)[0]
        return process.returncode, said

    def read_to(self, process, words):
        """What a run prints until it has printed these words."""
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith(words):
                return "".join(lines)
        self.fail("".join(lines))

    def count(self, table):
        """The number of items, without what the functions keep for themselves for good: the partition key of that is SAPWOOD."""
        items = table.client.scan(TableName=table.name, ConsistentRead=True)["Items"]
        return sum({"S": "SAPWOOD"} not in item.values() for item in items)

    def test_a_stack_with_every_kind_of_rows_is_all_right(self):
        table, where = self.stack_with_every_kind()
        code, said = self.run_to_its_end(*where, *PATIENT)
        print(said)
        self.assertEqual(code, 0, said)
        self.assertEqual(re.findall(r"FAILED|isn't tried", said), [])
        self.assertRegex(said, r"a root and a node get other places among their siblings \.\.\. ok")
        self.assertRegex(said, r"a node names others, .* \.\.\. ok")
        self.assertRegex(said, "first consistent sight of its row: p50 [0-9]+ ms, p90 [0-9]+ ms, p99 [0-9]+ ms, max [0-9]+ ms")
        self.assertEqual(self.count(table), 0)

    def stack_with_every_kind(self):
        parameters = [word for name, (value, _) in EVERY_KIND.items() for word in ("--parameter", f"{name}={value}")]
        table, where = self.stack(*parameters, "--parameter", "OrderByHand=on")
        return table, [*where, *(word for value, option in EVERY_KIND.values() for word in (option, value))]

    def test_a_run_that_only_reads_writes_nothing(self):
        table, where = self.stack()
        said = self.reads(*where, code=0)
        self.assertRegex(said, r"the API answers \.\.\. ok .*\nthe API reads the table \.\.\. ok .*\nthe auditor's proof \.\.\. ok .*\n +no auditor has run yet\n")
        self.assertEqual(self.count(table), 0)
        table.client.put_item(TableName=table.name, Item=self.audit())
        self.assertRegex(self.reads(*where, code=0), r"what stood in the table [0-9]+\.[0-9] hours ago has been compared since\n")
        self.assertIn("a run that writes nothing can see nothing", self.reads(*where[:4], code=1))

    def test_an_api_that_wants_a_token_or_a_tenant_is_seen_to_be_closed(self):
        table, where = self.stack()
        asked = ["--api-authorization", "JWT", "--tenant", "acme"]
        with Closed() as url:
            self.assertRegex(self.reads(*where[:4], *asked, "--api", url, code=0), r"the API refuses who has no token \.\.\. ok")
        _, with_tenants = self.stack("--parameter", "TenantClaim=tenant", "--claim", "sub=ada")
        self.assertIn("nothing is read: the authorizer names no tenant", self.reads(*with_tenants, "--tenant", "acme", code=0))
        # This one answers anybody.
        self.assertIn("was answered 200, not 401", self.reads(*where, *asked, code=1))
        self.assertEqual(self.count(table), 0)

    def audit(self):
        """What an auditor leaves in the table: the example of its page."""
        examples = map(json.loads, re.findall(r"```json\n(.*?)\n```", (ROOT / "docs" / "reference" / "items.md").read_text(), flags=re.S))
        return next(example for example in examples if example.get("SK") == {"S": "AUDIT"})

    def reads(self, *where, code):
        found, said = self.run_to_its_end(*where, "--read-only")
        self.assertEqual(found, code, said)
        return said

    def test_the_region_is_that_of_either_variable(self):
        """boto3 reads one of them, and the AWS CLI 2 the other."""
        table, where = self.stack()
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            with self.subTest(name), patch.dict(self.environment, {name: "eu-west-3"}):
                given = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
                with patch.dict(self.environment, given):
                    self.assertIn("region eu-west-3,", self.reads(*where, code=0))

    def test_an_answer_that_may_have_come_after_the_write_is_not_asked_for_again(self):
        """API Gateway answers 503, without Retry-After, where an integration's time was up."""
        sys.path.insert(0, str(SMOKE))
        self.addCleanup(sys.path.remove, str(SMOKE))
        from api import Api
        from trouble import Differs

        for method, headers, sent in (("POST", {}, 1), ("POST", {"retry-after": "0"}, 5), ("GET", {}, 5)):
            api, asked = Api("https://example.org", "NONE", None, None), []
            api.send = lambda *given: (asked.append(given), (503, b"", headers))[1]
            with self.subTest(method, headers=headers), patch("time.sleep"), self.assertRaises(Differs):
                api.ask(method, "/nodes", {} if method == "POST" else None, (201,))
            self.assertEqual(len(asked), sent)

    @in_full
    def test_a_stack_with_other_names_switches_and_tenants_is_all_right(self):
        parameters = [word for name, (value, _) in OTHER.items() for word in ("--parameter", f"{name}={value}")]
        tenants = ["--parameter", "TenantClaim=tenant", "--claim", "tenant=acme", "--claim", "sub=ada"]
        table, where = self.stack(*parameters, *tenants)
        options = [word for value, option in OTHER.values() for word in (option, value)]
        code, said = self.run_to_its_end(*where, *options, "--tenant", "acme", *PATIENT)
        self.assertEqual(code, 0, said)
        self.assertEqual(self.count(table), 0)
        code, said = self.run_to_its_end(*where)
        self.assertEqual(code, 2, said)
        self.assertIn("give --partition-key pk --sort-key sk", said)

    def test_rows_that_do_not_come_are_named(self):
        table, where = self.stack("--no-handler")
        code, said = self.run_to_its_end(*where, "--patience", "2")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, "[0-9]+ differences after 2 s\n +missing ROOTS / ROOT#smoke-.*-t00\n")
        self.assertEqual(self.count(table), 0, said)

    @in_full
    def test_rows_that_somebody_changes_are_named(self):
        table, where = self.stack()
        run = self.start(*where, "--no-api", "--patience", "45")
        prefix = re.search("prefix (.*)\n", self.read_to(run, MOVED))[1]
        # Rows of nodes that the run doesn't write any more.
        gone, changed, foreign = (f"NODE#0001#{prefix}{name}" for name in ("t50", "t51", "t99"))
        key = {"PK": {"S": f"{prefix}t16"}}
        table.client.delete_item(TableName=table.name, Key=key | {"SK": {"S": gone}})
        renamed = {"UpdateExpression": "SET #n = :v", "ExpressionAttributeNames": {"#n": "name"}, "ExpressionAttributeValues": {":v": {"S": "?"}}}
        table.client.update_item(TableName=table.name, Key=key | {"SK": {"S": changed}}, **renamed)
        table.client.put_item(TableName=table.name, Item=key | {"SK": {"S": foreign}})
        said = run.communicate(timeout=600)[0]
        self.assertEqual(run.returncode, 1, said)
        self.assertIn("3 differences after 45 s\n", said)
        self.assertIn(f"missing {prefix}t16 / {gone}\n", said)
        self.assertIn(f'wrong {prefix}t16 / {changed}: name must be {{"S": "smoke test: node 51"}} and is {{"S": "?"}}\n', said)
        self.assertIn(f"left over {prefix}t16 / {foreign}: {{}}\n", said)
        # The other parts are tried all the same, and the run removes what it has found.
        self.assertRegex(said, r"the lag of .* \.\.\. ok")
        self.assertEqual(self.count(table), 0, said)

    @in_full
    def test_a_run_that_is_interrupted_removes_what_it_wrote(self):
        table, where = self.stack()
        run = self.start(*where, *PATIENT)
        self.read_to(run, MOVED)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=600)[0]
        self.assertEqual(run.returncode, 130, said)
        self.assertEqual(self.count(table), 0, said)

    @in_full
    def test_what_a_run_that_was_killed_has_left_is_removed_by_its_prefix(self):
        table, where = self.stack_with_every_kind()
        table.oracle.order, table.oracle.links = "name", ("tags", "seen")
        table.node("not of the run", name="stays")
        table.settle(self)
        before = table.items()
        run = self.start(*where, *PATIENT)
        prefix = re.search("prefix (.*)\n", self.read_to(run, "the API moves a subtree"))[1]
        run.kill()
        run.wait()
        self.assertGreater(self.count(table), 200)
        code, said = self.run_to_its_end(*where, "--clean", prefix)
        self.assertEqual(code, 0, said)
        self.assertEqual(table.items(), before)

    @in_full
    def test_what_cannot_be_tried_is_told_by_exit_code_2(self):
        nowhere = f"http://127.0.0.1:{free_port()}"
        table, where = self.stack()
        for arguments, words in (
            (["--region", "us-east-1"], "--stack --table is required"),
            ([*where, "--clean", "smoke-"], "the whole prefix"),
            (["--table", "sapwood", "--endpoint", nowhere], "Could not connect"),
            ([*where, "--table", "nobody"], "ResourceNotFound"),
            ([*where, "--api", nowhere], "can't be reached"),
            ([*where, "--api-authorization", "JWT"], "give --token"),
        ):
            with self.subTest(words):
                code, said = self.run_to_its_end(*arguments)
                self.assertEqual(code, 2, said)
                self.assertIn(words, said)
        self.assertEqual(self.count(table), 0)

    def test_its_oracle_and_the_rehearsals_agree(self):
        specification = importlib.util.spec_from_file_location("world", SMOKE / "world.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        for seed in range(200):
            draw = random.Random(seed)
            names = {"PartitionKey": "pk", "SortKey": "sk", "NodeSortKey": "METADATA", "ParentAttribute": "up", "SegmentAttribute": "label"}
            kinds = {"OrderAttribute": draw.choice(["", "size", "size,name:caseless"]), "LinkAttributes": draw.choice(["", "tags,seen"])}
            settings = module.SETTINGS | (names if seed % 2 else {}) | {"NeverCopied": draw.choice(["", "size", "size, parent"])} | kinds
            world = module.World("", [], settings)
            ids = [f"{number} é#%" for number in range(draw.randrange(30))]
            for number, id in enumerate(ids):
                size = draw.choice([{"N": str(number * 10)}, {"N": f"-{number}.05"}, {"N": "1E-90"}, {"S": id}, {"S": ""}, {"BOOL": True}])
                item = {"name": {"S": id}, "size": size, "_mine": {"S": "not copied"}}
                for attribute in ("tags", "seen"):
                    linked = draw.choice([None, {"S": id}, {"SS": ["b", "a#"]}, {"L": [{"S": "x"}, {"N": "1"}, {"S": "x"}, {"S": ""}]}, {"N": "1"}])
                    item |= {attribute: linked} if linked else {}
                if parent := draw.choice([None, "missing", *ids[:number]]):
                    item[world.parent] = {"S": parent}
                if draw.random() < 0.3:
                    item[world.segment] = {"S": draw.choice(["a b", "50% # $"])}
                world.nodes[id] = item
                for version in range(draw.randrange(3)):
                    world.revisions[id, draw.choice(["v001_", "v999_", "va1000_"]) + draw.choice(["Audit", "Log#1"])] = item
            oracle = Oracle(
                partition_key=settings["PartitionKey"],
                sort_key=settings["SortKey"],
                node=settings["NodeSortKey"],
                parent=settings["ParentAttribute"],
                segment=settings["SegmentAttribute"],
                never_copied=frozenset(module.split(settings["NeverCopied"])),
                order=settings["OrderAttribute"],
                links=tuple(module.split(settings["LinkAttributes"])),
            )
            base = {(id, world.node): item for id, item in world.nodes.items()} | world.revisions
            keys = {settings["PartitionKey"], settings["SortKey"]}
            wanted = {key: {name: value for name, value in item.items() if name not in keys} for key, item in oracle.table(base).items()}
            self.assertEqual(world.wanted(), wanted, f"seed {seed}")
