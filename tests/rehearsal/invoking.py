"""The functions as a developer runs them: `cargo lambda watch` on the table of `sapwood dev`, and every event of tests/events invoked with
`cargo lambda invoke`; answers and the whole table are checked."""

import base64
import json
import os
import re
import socket
import subprocess
import tempfile
import unittest

import boto3

from oracle import Oracle
from process import Process, free_port
from table import Table
from templates import ROOT

EVENTS = ROOT / "tests" / "events"
# The story, and whether the table is right after each: a move is passed on by the records that the handler itself sets off.
# `tests/stack/stream_events.rs` tells it, too.
STORY = {
    "insert": True,
    "rename": True,
    "move": False,
    "cascade": False,
    "touched": True,
    "revisions": True,
    "mixed": True,
    "bad-record": True,
    "remove": True,
    "expire": True,
}
# What EventBridge sends the auditor, every five minutes.
SCHEDULE = "schedule/audit"
ADA = {"S": "arn:aws:sts::123456789012:assumed-role/Editors/ada"}
ORDER = ("ORDER#98765", "NODE")
AUDIT = ("SAPWOOD", "AUDIT")
FIRST, SECOND = ("eq", "v001_Audit#wheel-2"), ("eq", "v002_Audit#wheel-2")
# What each request is answered, in this order, and what must be true of the answer's body and the table.
REQUESTS = [
    ("create-node", 201, lambda body, at: body["id"] == ORDER[0] and at[ORDER]["_created_by"] == ADA),
    ("create-node-of-a-tenant", 409, lambda body, at: "already" in json.dumps(body)),
    ("create-node-base64", 201, lambda body, at: ("b64", "NODE") in at),
    # It asks to wait for its rows, which nobody makes here: 202.
    ("move-node", 202, lambda body, at: at[ORDER]["parent"] == {"S": "shop"}),
    ("append-revision", 201, lambda body, at: body["version"] == 1 and FIRST in at and SECOND not in at),
    # Repeated with its key: the same answer, and nothing is done twice.
    ("append-revision", 201, lambda body, at: body["version"] == 1 and FIRST in at and SECOND not in at),
    ("get-node", 200, lambda body, at: body["parent"] == "shop"),
    ("get-node-of-every-kind-of-byte", 404, lambda body, at: body["status"] == 404),
    # From the node itself on, two levels: it has no rows below it yet.
    ("list-descendants", 200, lambda body, at: ids(body) == [ORDER[0]]),
    ("list-descendants-by-prefix", 200, lambda body, at: ids(body) == []),
    ("decoded-slash", 404, lambda body, at: body["status"] == 404),
    ("decoded-number-sign", 400, lambda body, at: "~" in body["detail"]),
    ("decoded-question-mark", 400, lambda body, at: "~" in body["detail"]),
    ("decoded-space", 400, lambda body, at: "~" in body["detail"]),
    ("decoded-tree", 400, lambda body, at: "~" in body["detail"]),
    ("decoded-dots", 400, lambda body, at: "~" in body["detail"]),
    ("stray-percent", 400, lambda body, at: "~" in body["detail"]),
    ("delete-subtree", 202, lambda body, at: "_deleting" in at[ORDER]),
]


def ids(page):
    return [item["id"] for item in page["items"]]


def event(name):
    return json.loads((EVENTS / f"{name}.json").read_text())


class Invoking(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # The same packages as watch chooses from (`cargo run --bin …`), so that it has nothing left to compile.
        built = ["--bin", "stream-handler", "--bin", "api-reader", "--bin", "api-writer", "--bin", "auditor"]
        subprocess.run(["cargo", "build", "--quiet", "--locked", *built], cwd=ROOT, check=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        # The stream is left to the function under cargo lambda: nobody else can have made the rows. Port 0 is any that is free.
        dev = [os.environ["SAPWOOD_BINARY"], "dev", "--no-handler", "--dynamodb", "127.0.0.1:0", "--json"]
        stack = cls.start(dev, environment)
        url = stack.wait_until(lambda: re.search('"dynamodb":"([^"]+)"', stack.said()))[1]
        client = boto3.client("dynamodb", "us-east-1", endpoint_url=url, aws_access_key_id="local", aws_secret_access_key="local")
        cls.table = Table(client, "sapwood", Oracle())
        cls.port = free_port()
        cls.at = ("--invoke-address", "127.0.0.1", "--invoke-port", str(cls.port))
        cls.url, cls.environment = url, environment
        watch = ["cargo", "lambda", "watch", *cls.at, "--env-file", cls.settings(url)]
        cls.watch = cls.start(watch, environment)
        cls.watch.wait_until(lambda: listens(cls.port))

    @classmethod
    def start(cls, command, environment):
        process = Process(command, ROOT, environment)
        cls.addClassCleanup(process.stop)
        return process

    @classmethod
    def settings(cls, url, **changed):
        """The one environment file that is documented, with the port that was free, and with changes."""
        documented = (ROOT / "infra" / "local.env").read_text().replace("http://127.0.0.1:8000", url)
        for name, value in changed.items():
            documented, found = re.subn(f"^{name}=.*$", f"{name}={value}", documented, flags=re.M)
            assert found == 1, name
        file = tempfile.NamedTemporaryFile("w", prefix="rehearsal-", suffix=".env")
        file.write(documented)
        file.flush()
        cls.addClassCleanup(file.close)
        return file.name

    def test_every_event_is_sent(self):
        there = {path.relative_to(EVENTS).with_suffix("").as_posix() for path in EVENTS.rglob("*.json")}
        self.assertEqual({*STORY, SCHEDULE, *(f"api/{name}" for name, *_ in REQUESTS)}, there)

    def test_the_stream_handler_brings_the_table_to_what_its_base_records_call_for(self):
        for name, is_right_after in STORY.items():
            with self.subTest(name):
                for record in event(name)["Records"]:
                    self.write(record["dynamodb"])
                answer = self.invoke("stream-handler", "--data-file", EVENTS / f"{name}.json")
                self.assertEqual(answer, {"batchItemFailures": []})
                self.assertEqual(self.table.wrong_records(), [])
                wrong = self.table.wrong_rows()
                self.assertEqual(wrong == [], is_right_after, "\n".join(wrong))

    def write(self, change):
        """Base records only; a record that doesn't say its key says nothing."""
        keys = change.get("Keys")
        if not keys or keys["SK"]["S"] in ("LINEAGE", "CASCADE"):
            return
        if "NewImage" in change:
            self.table.put_item(unpacked(change["NewImage"]))
        else:
            self.table.delete(keys["PK"]["S"], keys["SK"]["S"])

    def test_rows_that_one_function_made_are_read_by_another(self):
        below = event("api/list-descendants")
        below["rawPath"] = below["requestContext"]["http"]["path"] = "/nodes/W/descendants"
        status, body = self.ask("api-reader", "--data-ascii", json.dumps(below))
        self.assertEqual((status, ids(body)), (200, ["W", "V", "d", "f"]))

    def test_the_auditor_answers_the_schedules_event_with_its_report(self):
        before = self.table.items()
        report = self.invoke("auditor", "--data-file", EVENTS / f"{SCHEDULE}.json")
        # A whole pass over a table that is right but for the orphan and the other findings, which aren't mended.
        wanted = {"saved": True, "suspects": 0, "confirmed": 0, "repaired": 0, "left": 0, "still_changing": 0, "age_seconds": 0}
        self.assertEqual({name: report.get(name) for name in wanted}, wanted, report)
        self.assertEqual(report["items"], len(before))
        self.assertGreater(report["read_units"], 0)
        self.assertEqual(report["write_units"], 1)
        after = self.table.items()
        self.assertEqual(after.keys() - before.keys(), {AUDIT}, "its position, and nothing else")
        self.assertEqual({key: item for key, item in after.items() if key != AUDIT}, before)

    def test_an_auditor_with_a_wrong_setting_says_what_to_set(self):
        port = free_port()
        at = ("--invoke-address", "127.0.0.1", "--invoke-port", str(port))
        watch = self.start(["cargo", "lambda", "watch", *at, "--env-file", self.settings(self.url, AUDIT="sometimes")], self.environment)
        watch.wait_until(lambda: listens(port))
        # No answer comes from a function that doesn't start.
        self.start(["cargo", "lambda", "invoke", *at, "auditor", "--data-ascii", "{}"], self.environment)
        line = watch.wait_until(lambda: re.search(r'^\{.*AUDIT is `sometimes`.*\}$', watch.said(), flags=re.M))
        said = json.loads(line[0])
        self.assertEqual(said["level"], "ERROR", said)
        self.assertIn("AUDIT is `sometimes`; set it to `repair` or `report`", said["message"] + said.get("error", ""))

    def test_the_api_answers_events_of_api_gateway(self):
        self.table.node("shop")
        for name, status_wanted, is_right in REQUESTS:
            with self.subTest(name):
                reads = event(f"api/{name}")["requestContext"]["http"]["method"] in ("GET", "HEAD")
                status, body = self.ask("api-reader" if reads else "api-writer", "--data-file", EVENTS / "api" / f"{name}.json")
                self.assertEqual(status, status_wanted, body)
                self.assertTrue(is_right(body, self.table.items()), body)

    def ask(self, function, *data):
        answer = self.invoke(function, *data)
        text = answer.get("body") or "null"
        return answer["statusCode"], json.loads(base64.b64decode(text) if answer["isBase64Encoded"] else text)

    def invoke(self, function, *data):
        command = ["cargo", "lambda", "invoke", *self.at, function, *data]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            # A function that doesn't start is waited for: the next event needn't wait, too.
            self.watch.process.terminate()
            self.fail(f"no answer: {self.watch.said()[-4000:]}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + self.watch.said()[-4000:])
        return json.loads(done.stdout)


def listens(port):
    with socket.socket() as door:
        return door.connect_ex(("127.0.0.1", port)) == 0


def unpacked(value):
    """An image as boto3 takes it: binary as bytes."""
    if isinstance(value, dict):
        return {kind: base64.b64decode(one) if kind == "B" and isinstance(one, str) else unpacked(one) for kind, one in value.items()}
    return [unpacked(one) for one in value] if isinstance(value, list) else value
