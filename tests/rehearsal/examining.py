"""`sapwood doctor` on a stack that is deployed on one machine's AWS: what is right is found right, and what is broken is named, and nothing else.

What ministack can't show: it deploys neither TTL nor point-in-time recovery, nor the alarms that are computed, and it says `true` as a text where
the table is protected. The first three doctor notices; the last no SDK can read.
"""

import json
import os
import subprocess
import time
import unittest

from emulator import Emulator
from oracle import Oracle
from table import WAIT, Table
from templates import REGION, ROOT

STACK = "examining"
OF_THE_TABLE = ("table", "keys", "stream", "ttl", "recovery", "protection", "release")
OF_THE_MAPPING = ("mapping", "filter", "failures", "retries", "destination")
OF_THE_HANDLER = ("handler", "concurrency", "settings")
# The alarms that are computed, which the emulator doesn't make, are the only ones on these metrics.
NOT_MADE = {"alarms-missing": "warn"}
RIGHT = dict.fromkeys((*OF_THE_TABLE, *OF_THE_MAPPING, *OF_THE_HANDLER, "audit"), "ok") | NOT_MADE


class Examining(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        cls.addClassCleanup(cls.emulator.stop)

    def client(self, service):
        return self.emulator.client(service)

    def look(self, *where):
        """What doctor ends with, and what each check finds: the verdict and the words."""
        command = [os.environ["SAPWOOD_BINARY"], "doctor", "--table", self.outputs["TableName"], "--json", *where]
        # Without options it asks AWS, with the environment's region and credentials, and AWS_ENDPOINT_URL says where AWS is.
        done = subprocess.run(command, cwd=ROOT, env=self.emulator.environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stderr, "")
        *findings, counts = map(json.loads, done.stdout.splitlines())
        self.assertEqual(sum(counts["counts"].values()), len(findings))
        checks = {finding["check"]: (finding["verdict"], finding["words"]) for finding in findings}
        self.assertEqual(len(checks), len(findings), "a check is told once")
        return done.returncode, checks

    def finds(self, wanted, words="", where=()):
        """Checks the verdicts, all of them, and that a check which isn't right says these words."""
        code, found = self.look(*where)
        self.assertEqual({check: verdict for check, (verdict, _) in found.items()}, wanted, found)
        self.assertEqual(code, 1 if "fail" in wanted.values() else 0)
        self.assertIn(words, " ".join(said for verdict, said in found.values() if verdict != "ok"))
        return found

    def test_a_new_stack_is_looked_at_before_anything_is_written(self):
        self.emulator.deploy(STACK, AlarmEmail="operators@example.com")
        type(self).outputs = self.emulator.outputs(STACK)
        self.client("dynamodb").update_table(TableName=self.outputs["TableName"], DeletionProtectionEnabled=True)
        # CloudFormation would have switched on the first two. Nothing has run yet.
        self.finds(RIGHT | {"ttl": "warn", "recovery": "warn", "release": "warn", "audit": "warn"}, "no handler has left its settings")

    def test_a_stack_that_works_is_all_right(self):
        table = Table(self.client("dynamodb"), self.outputs["TableName"], Oracle())
        table.node("D")
        table.node("V", parent="D")
        table.settle(self)
        self.client("lambda").invoke(FunctionName=self.outputs["AuditorName"], Payload=b"{}")
        self.ttl(True)
        self.recovery(True)
        found = self.finds(RIGHT, "no alarm on ReadThrottleEvents, WriteThrottleEvents, TransactionConflict, PolledEventCount: deploy again")
        self.assertIn(self.outputs["EventSourceMappingId"], found["mapping"][1])

    def test_an_endpoint_and_a_region_that_are_named_show_the_same(self):
        named = ("--endpoint", self.emulator.url, "--services-endpoint", self.emulator.url)
        self.finds(RIGHT, where=(*named, "--region", REGION))
        # Another region has no such table.
        self.finds({"table": "fail"}, "check --table, --region and --profile", (*named, "--region", "us-east-1"))
        # DynamoDB alone.
        without = {check: verdict for check, verdict in RIGHT.items() if check in (*OF_THE_TABLE, "audit")}
        self.finds(without | {"mapping": "not-here", "alarms": "not-here"}, where=(*named[:2], "--region", REGION))

    def test_what_is_broken_is_named_and_nothing_else(self):
        for break_it, mend_it, wanted, words in (
            (lambda: self.ttl(False), lambda: self.ttl(True), {"ttl": "warn"}, "Switch it on, by _expires"),
            (lambda: self.recovery(False), lambda: self.recovery(True), {"recovery": "warn"}, "what is lost stays lost"),
            (lambda: self.protect(False), lambda: self.protect(True), {"protection": "warn"}, "can be deleted by one call"),
            (lambda: self.map(Enabled=False), lambda: self.map(Enabled=True), {"mapping": "fail"}, "is disabled"),
            (lambda: self.map(MaximumRetryAttempts=7), lambda: self.map(MaximumRetryAttempts=-1), {"retries": "warn"}, "MaximumRetryAttempts is 7"),
            (lambda: self.map(FunctionResponseTypes=[]), lambda: self.map(FunctionResponseTypes=["ReportBatchItemFailures"]), {"failures": "fail"}, "are lost"),
            (self.let_everything_through, self.filter_again, {"filter": "fail"}, "or rows reach the handler"),
            (self.stop_the_handler, self.start_the_handler, {"concurrency": "fail"}, "reserved concurrency 0"),
            (lambda: self.set(PATH_ROWS="off"), lambda: self.set(PATH_ROWS="on"), {"settings": "warn"}, "PATH_ROWS changed"),
            (lambda: self.set(PATH_ROWS="maybe"), lambda: self.set(PATH_ROWS="on"), {"settings": "fail"}, "PATH_ROWS is `maybe`"),
            (lambda: self.ring("ALARM"), lambda: self.ring("OK"), {"alarms": "fail"}, "on: "),
        ):
            with self.subTest(words):
                break_it()
                try:
                    self.finds(RIGHT | wanted, words)
                finally:
                    mend_it()
        self.finds(RIGHT)

    def test_a_second_mapping_to_the_handler_is_named(self):
        self.map_twice()
        try:
            # Nobody knows which of them to judge; the handler is judged once.
            kept = {check: verdict for check, verdict in RIGHT.items() if check not in OF_THE_MAPPING}
            self.finds(kept | {"mapping": "fail"}, "2 mappings bring the stream to a handler")
        finally:
            self.map_once()

    def test_alarms_that_are_gone_are_named(self):
        alarms = self.client("cloudwatch").describe_alarms()["MetricAlarms"]
        gone = [alarm["AlarmName"] for alarm in alarms if alarm["MetricName"] in ("IteratorAge", "BadRecords")]
        self.assertEqual(len(gone), 2)
        self.client("cloudwatch").delete_alarms(AlarmNames=gone)
        self.finds(RIGHT, "no alarm on IteratorAge, BadRecords, ReadThrottleEvents,")

    def test_a_mapping_that_is_gone_is_named_and_its_handler_is_no_longer_looked_at(self):
        self.client("lambda").delete_event_source_mapping(UUID=self.outputs["EventSourceMappingId"])
        # All alarms on the table itself are computed.
        gone = (*OF_THE_MAPPING, *OF_THE_HANDLER, *NOT_MADE)
        without = {check: verdict for check, verdict in RIGHT.items() if check not in gone}
        self.finds(without | {"mapping": "fail", "alarms": "warn"}, "no event source mapping brings the stream to a stream handler")

    def ttl(self, enabled):
        asked = {"Enabled": enabled, "AttributeName": "_expires"}
        self.client("dynamodb").update_time_to_live(TableName=self.outputs["TableName"], TimeToLiveSpecification=asked)

    def recovery(self, enabled):
        asked = {"PointInTimeRecoveryEnabled": enabled}
        self.client("dynamodb").update_continuous_backups(TableName=self.outputs["TableName"], PointInTimeRecoverySpecification=asked)

    def protect(self, enabled):
        self.client("dynamodb").update_table(TableName=self.outputs["TableName"], DeletionProtectionEnabled=enabled)

    def map(self, **changed):
        self.client("lambda").update_event_source_mapping(UUID=self.outputs["EventSourceMappingId"], **changed)

    def let_everything_through(self):
        known = self.client("lambda").get_event_source_mapping(UUID=self.outputs["EventSourceMappingId"])
        type(self).filter = known["FilterCriteria"]
        self.map(FilterCriteria={"Filters": [{"Pattern": json.dumps({"eventName": ["INSERT", "MODIFY", "REMOVE"]})}]})

    def filter_again(self):
        self.map(FilterCriteria=self.filter)

    def map_twice(self):
        function, stream = self.outputs["StreamHandlerName"], self.outputs["TableStreamArn"]
        made = self.client("lambda").create_event_source_mapping(FunctionName=function, EventSourceArn=stream, StartingPosition="LATEST", Enabled=False)
        type(self).second = made["UUID"]

    def map_once(self):
        self.client("lambda").delete_event_source_mapping(UUID=self.second)

    def stop_the_handler(self):
        self.client("lambda").put_function_concurrency(FunctionName=self.outputs["StreamHandlerName"], ReservedConcurrentExecutions=0)

    def start_the_handler(self):
        self.client("lambda").delete_function_concurrency(FunctionName=self.outputs["StreamHandlerName"])

    def set(self, **changed):
        """Changes the handler's environment, and waits until it is updated."""
        client, name = self.client("lambda"), self.outputs["StreamHandlerName"]
        variables = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        client.update_function_configuration(FunctionName=name, Environment={"Variables": variables | changed})
        until = time.monotonic() + WAIT
        while client.get_function_configuration(FunctionName=name)["LastUpdateStatus"] == "InProgress":
            self.assertLess(time.monotonic(), until, "the update doesn't end")
            time.sleep(0.2)

    def ring(self, state):
        client = self.client("cloudwatch")
        (name,) = [alarm["AlarmName"] for alarm in client.describe_alarms()["MetricAlarms"] if alarm["MetricName"] == "IteratorAge"]
        client.set_alarm_state(AlarmName=name, StateValue=state, StateReason="by hand")
