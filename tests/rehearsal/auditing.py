"""The deployed auditor on one machine's AWS: it heals what somebody has damaged by hand, and writes nothing else; with `Audit=report` it writes
nothing but its own item; its schedule invokes it.

A difference counts after ten minutes, and a pass begins once a day: here after seconds, and at once. The commands are those of docs/reference/parameters.md
and docs/operate/verify-repair.md.
"""

import json
import os
import re
import time
import unittest

from deployment import plant
from emulator import Emulator
from oracle import Oracle
from table import WAIT, Table
from templates import ROOT

STACK = "auditing"
FAST = {"AUDIT_SETTLE_SECONDS": "2", "AUDIT_PASS_HOURS": "0"}
CONSTANTS = ROOT / "docs" / "reference" / "parameters.md"
POSITION = ("SAPWOOD", "AUDIT")
# A row of a node that is there, with attributes that no record has; and a row that no lineage names.
CHANGED = ("D", "NODE#0001#V")
INVENTED = ("D", "NODE#0002#f05x")
DELETED = ("V", "NODE#0002#f03")


class Auditing(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        cls.addClassCleanup(cls.emulator.stop)

    def client(self, service):
        return self.emulator.client(service)

    def deploy(self, **parameters):
        """Deploys, with a schedule that is off, so that nobody but the test runs the auditor, and with settings that need no patience."""
        self.emulator.deploy(STACK, **parameters)
        type(self).outputs = self.emulator.outputs(STACK)
        type(self).table = Table(self.client("dynamodb"), self.outputs["TableName"], Oracle())
        self.emulator.shell(f"aws events disable-rule --name {self.outputs['AuditScheduleName']}")
        (variable,) = re.findall(r"^```sh\n(variable\(\).*?)^```$", CONSTANTS.read_text(), flags=re.M | re.S)
        set_all = "".join(f"variable {self.outputs['AuditorName']} {name} {value}\n" for name, value in FAST.items())
        self.emulator.shell(variable + set_all)
        configuration = self.client("lambda").get_function_configuration(FunctionName=self.outputs["AuditorName"])
        variables = configuration["Environment"]["Variables"]
        self.assertEqual({name: variables.get(name) for name in (*FAST, "TABLE_NAME")}, FAST | {"TABLE_NAME": self.outputs["TableName"]})

    def run_auditor(self):
        """Runs it once. Returns the metrics of the run, as the log has them."""
        known = self.metrics()
        answer = self.client("lambda").invoke(FunctionName=self.outputs["AuditorName"], Payload=b"{}")
        said = answer["Payload"].read()
        self.assertNotIn("FunctionError", answer, said)
        self.assertIsInstance(json.loads(said), dict)
        until = time.monotonic() + WAIT
        while len(found := self.metrics()) == len(known):
            self.assertLess(time.monotonic(), until, "a run without a line of metrics")
            time.sleep(0.2)
        (metrics,) = found[len(known) :]
        return metrics

    def metrics(self):
        """The lines of metrics, as CloudWatch reads them: the values of the metrics that they declare."""
        pages = self.client("logs").get_paginator("filter_log_events").paginate(logGroupName=self.outputs["AuditorLogGroup"])
        lines = [event["message"] for page in pages for event in page["events"]]
        emf = [json.loads(line) for line in lines if line.startswith("{") and '"CloudWatchMetrics"' in line]
        for line in emf:
            (directive,) = line["_aws"]["CloudWatchMetrics"]
            self.assertEqual((directive["Namespace"], directive["Dimensions"]), ("Sapwood", [["FunctionName"]]))
            self.assertEqual(line["FunctionName"], self.outputs["AuditorName"])
        return [{metric["Name"]: line[metric["Name"]] for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]} for line in emf]

    def passes(self, enough):
        """Runs it until the runs together are enough. Returns the sum of each metric."""
        sums, until = {}, time.monotonic() + WAIT
        while not enough(sums):
            self.assertLess(time.monotonic(), until, f"{sums}")
            for name, value in self.run_auditor().items():
                sums[name] = sums.get(name, 0) + value
            time.sleep(0.5)
        return sums

    def a_pass(self):
        return self.passes(lambda sums: "AuditPassTime" in sums)

    def written(self):
        """The keys of all records of the table's stream."""
        client, arn, keys = self.client("dynamodbstreams"), self.outputs["TableStreamArn"], []
        for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = client.get_shard_iterator(**asked)["ShardIterator"]
            while iterator and (page := client.get_records(ShardIterator=iterator))["Records"]:
                keys += [tuple(record["dynamodb"]["Keys"][name]["S"] for name in ("PK", "SK")) for record in page["Records"]]
                iterator = page.get("NextShardIterator")
        return keys

    def damage(self):
        """By a foreign client, behind the handler's back: derived rows don't reach it."""
        items = self.table.items()
        client, name = self.client("dynamodb"), self.outputs["TableName"]
        key = lambda pk, sk: {"PK": {"S": pk}, "SK": {"S": sk}}
        client.delete_item(TableName=name, Key=key(*DELETED))
        client.put_item(TableName=name, Item=items[CHANGED] | {"name": {"S": "nobody's name"}})
        invented = key(*INVENTED) | {"_id": {"S": "f05x"}, "_depth": {"N": "2"}, "_parent": {"S": "V"}}
        client.put_item(TableName=name, Item=invented)
        found = self.table.wrong_rows()
        self.assertEqual(len(found), 3, found)
        return found

    def test_nodes_of_a_foreign_client_fan_out(self):
        self.deploy()
        plant(self.table)
        self.table.settle(self)

    def test_a_pass_over_a_right_table_finds_nothing_and_writes_its_own_item_only(self):
        before = len(self.written())
        sums = self.a_pass()
        self.assertEqual((sums["AuditConfirmed"], sums["AuditRepaired"], sums["AuditLeft"]), (0, 0, 0))
        self.assertGreaterEqual(sums["AuditItems"], len(self.table.items()) - 2)
        self.assertGreater(sums["AuditFindings"], 0, "an orphan and a cycle")
        self.assertGreater(sums["ReadUnits"], 0)
        self.assertEqual({POSITION}, set(self.written()[before:]))
        self.assertEqual(self.table.differences(), [])

    def test_three_damaged_rows_are_healed(self):
        self.damage()
        sums = self.passes(lambda sums: sums.get("AuditRepaired", 0) >= 3)
        self.assertEqual((sums["AuditConfirmed"], sums["AuditRepaired"], sums["AuditLeft"]), (3, 3, 0))
        # The base records are as they were written, the rows are those that an independent computation expects.
        self.table.settle(self)
        self.assertNotIn(INVENTED, self.table.items())

    def test_the_pass_after_that_finds_nothing(self):
        sums = self.a_pass()
        self.assertEqual((sums["AuditPending"], sums["AuditConfirmed"], sums["AuditLeft"]), (0, 0, 0))

    def test_an_auditor_that_reports_leaves_what_it_finds_and_writes_its_own_item_only(self):
        written = self.table.written
        self.deploy(Audit="report")
        self.table.written = written
        found = self.damage()
        before = len(self.written())
        sums = self.passes(lambda sums: sums.get("AuditConfirmed", 0) >= 3)
        self.assertEqual(sums["AuditRepaired"], 0)
        self.assertGreaterEqual(sums["AuditLeft"], 3)
        self.assertEqual({POSITION}, set(self.written()[before:]))
        self.assertEqual(self.table.wrong_rows(), found)

    def test_its_schedule_invokes_it(self):
        known = len(self.metrics())
        rule = self.outputs["AuditScheduleName"]
        self.emulator.shell(f"aws events put-rule --name {rule} --schedule-expression 'rate(1 minute)'; aws events enable-rule --name {rule}")
        until = time.monotonic() + WAIT
        while len(self.metrics()) == known:
            self.assertLess(time.monotonic(), until, "no run")
            time.sleep(1)

    def test_without_an_audit_nothing_of_it_is_left_but_its_position_and_its_log(self):
        self.emulator.deploy(STACK, Audit="off")
        outputs = self.emulator.outputs(STACK)
        self.assertEqual([name for name in outputs if name.startswith("Audit")], ["AuditorLogGroup"])
        functions = [function["FunctionName"] for function in self.client("lambda").list_functions()["Functions"]]
        self.assertNotIn(self.outputs["AuditorName"], functions)
        self.assertEqual(self.client("events").list_rules()["Rules"], [])
        self.assertIn(POSITION, self.table.items())
