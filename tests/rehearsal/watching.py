"""The recipe of docs/guides/watch.md, deployed beside the stack: a function of the user's gets what is below V, and nothing else.

The template is the page's own block, with a function that logs what it gets. ministack reports a change of a row as it is: what a node that is
created again, moves or goes looks like is compared with what the page says.
"""

import json
import os
import re
import time
import unittest

from emulator import Emulator
from oracle import Oracle
from table import WAIT, Table
from templates import ROOT

PAGE = ROOT / "docs" / "guides" / "watch.md"
STACK, WATCHERS = "watched", "watchers"

# What stands where the page leaves the function itself out.
FUNCTION = """Runtime: python3.12
      Handler: index.handler
      InlineCode: |
        import json
        def handler(event, context):
            for record in event["Records"]:
                print("GOT " + json.dumps([record["eventName"], record["dynamodb"]]))
            return {"batchItemFailures": []}"""

AROUND = """Transform: AWS::Serverless-2016-10-31
Parameters:
  TableStreamArn: {Type: String}
Resources:
%s
Outputs:
  Watcher:
    Value: !Ref Watcher
"""


class Watching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        cls.addClassCleanup(cls.emulator.stop)

    def got(self):
        """The changes that the function has been given: what happened, to which row, and the name in its image."""
        logs, group = self.emulator.client("logs"), f"/aws/lambda/{self.watcher}"
        # The group is made with the first invocation.
        if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
            return []
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        lines = [line for page in pages for event in page["events"] for line in event["message"].splitlines()]
        found = []
        for what, change in (json.loads(line.partition("GOT ")[2]) for line in lines if "GOT " in line):
            image = change.get("NewImage") or change["OldImage"]
            found.append((what, change["Keys"]["PK"]["S"], change["Keys"]["SK"]["S"], image["_parent"]["S"]))
        return found

    def expect(self, *changes):
        """Waits until these have come, in any order, and looks whether others have come with them."""
        until, expected = time.monotonic() + WAIT, sorted(("V", *change) for change in changes)
        while len(found := self.got()[self.known :]) < len(expected) and time.monotonic() < until:
            time.sleep(0.5)
        self.table.settle(self)
        time.sleep(1.5)
        found = self.got()[self.known :]
        self.assertEqual(sorted((pk, what, sk, parent) for what, pk, sk, parent in found), expected)
        type(self).known += len(found)

    def test_the_recipe_is_deployed_as_it_stands(self):
        self.emulator.deploy(STACK)
        outputs = self.emulator.outputs(STACK)
        type(self).table = Table(self.emulator.client("dynamodb"), outputs["TableName"], Oracle())
        (block,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), flags=re.M | re.S)
        self.assertEqual(block.count("# …"), 1)
        template = AROUND % block.replace("# …", FUNCTION)
        path = ROOT / ".aws-sam" / "watchers.yaml"
        path.write_text(template)
        overrides = [f"TableStreamArn={outputs['TableStreamArn']}"]
        arguments = ["--template-file", path, "--stack-name", WATCHERS, "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset"]
        code, said = self.emulator.sam("deploy", *arguments, "--resolve-s3", "--parameter-overrides", *overrides)
        self.assertEqual(code, 0, said)
        type(self).watcher = self.emulator.outputs(WATCHERS)["Watcher"]
        type(self).known = 0

    def test_nodes_that_come_below_v_are_told_and_no_others(self):
        for id, parent in (("D", None), ("V", "D"), ("d", "V"), ("i", "d"), ("W", "D"), ("other", "W")):
            self.table.node(id, parent=parent, name=id)
        self.table.put("V", "v001_Audit", auditor="Rick")
        self.expect(("INSERT", "NODE#0001#d", "V"), ("INSERT", "NODE#0002#i", "d"))

    def test_a_change_is_told_once(self):
        self.table.set("i", "name", "another")
        self.table.set("other", "name", "another")
        self.expect(("MODIFY", "NODE#0002#i", "d"))

    def test_a_node_that_goes_elsewhere_is_told_to_have_gone(self):
        self.table.set("d", "parent", "W")
        self.expect(("REMOVE", "NODE#0001#d", "V"), ("REMOVE", "NODE#0002#i", "d"))

    def test_a_node_that_comes_from_elsewhere_has_come_with_all_below_it(self):
        self.table.set("W", "parent", "V")
        expected = ("NODE#0001#W", "V"), ("NODE#0002#d", "W"), ("NODE#0002#other", "W"), ("NODE#0003#i", "d")
        self.expect(*(("INSERT", *row) for row in expected))

    def test_a_move_that_changes_the_depth_is_an_insert_and_a_remove(self):
        self.table.set("d", "parent", "V")
        self.expect(*((what, sk, parent) for what, sk, parent in (
            ("INSERT", "NODE#0001#d", "V"), ("REMOVE", "NODE#0002#d", "W"), ("INSERT", "NODE#0002#i", "d"), ("REMOVE", "NODE#0003#i", "d"))))

    def test_a_deleted_node_has_gone(self):
        self.table.delete("i", "NODE")
        self.expect(("REMOVE", "NODE#0002#i", "d"))
