"""The alarms that are computed: what the console would show for given metrics, and when they ring. The emulator has no metric math. Also the alarm
that silence sets off, those that roll back a deployment, and what a new stack says."""

import json
import os
import re
import subprocess
import unittest

from templates import NESTED, ROOT, written


class Series(list):
    """A value for each period; None where there are no data."""

    def __eq__(self, number):
        return Series(value == number for value in self)

    __hash__ = None


def fill(series, number):
    return Series(number if value is None else value for value in series)


def either(condition, then, otherwise):
    return Series(then[at] if holds else otherwise for at, holds in enumerate(condition))


def rings(alarm, metrics):
    properties = alarm["Properties"]
    (expression,) = (one["Expression"] for one in properties["Metrics"] if "Expression" in one)
    shown = [one["Id"] for one in properties["Metrics"] if one.get("ReturnData", True)]
    assert len(shown) == 1, shown
    values = eval(expression, {"FILL": fill, "IF": either, **{name: Series(values) for name, values in metrics.items()}})
    compared = {"GreaterThanThreshold": float.__gt__, "GreaterThanOrEqualToThreshold": float.__ge__}[properties["ComparisonOperator"]]
    window = values[-properties["EvaluationPeriods"] :]
    # Data that are missing leave an alarm on a metric of DynamoDB as it is.
    assert None not in window, f"{expression}: {values}"
    return sum(compared(float(value), float(properties["Threshold"])) for value in window) >= properties["DatapointsToAlarm"]


def alarms():
    """All alarms of the nested stacks by name."""
    resources = [item for file in NESTED for item in written(file)["Resources"].items()]
    return {name: resource for name, resource in resources if resource["Type"] == "AWS::CloudWatch::Alarm"}


def watched(alarm):
    """The metrics that an alarm looks at, by their ids."""
    properties = alarm["Properties"]
    inside = {one["Id"]: one["MetricStat"]["Metric"] for one in properties.get("Metrics", []) if "MetricStat" in one}
    return inside or {"": properties}


class Alarms(unittest.TestCase):
    alarm = written(ROOT / "infra" / "mapping-alarms.yaml")["Resources"]["StreamNotRead"]
    nothing = [None] * 12

    def test_it_rings_where_a_table_is_written_to_now_and_then_and_nobody_reads(self):
        now_and_then = [2, None, None, None, 7, None, None, None, None, 1, None, None]
        self.assertTrue(rings(self.alarm, {"written": now_and_then, "read": self.nothing}))
        self.assertTrue(rings(self.alarm, {"written": [5] * 12, "read": [0] * 12}))

    def test_it_is_quiet_where_the_stream_is_read_or_nothing_is_written(self):
        self.assertFalse(rings(self.alarm, {"written": [5] * 12, "read": [9] * 12}))
        self.assertFalse(rings(self.alarm, {"written": self.nothing, "read": self.nothing}))
        self.assertFalse(rings(self.alarm, {"written": self.nothing, "read": [1] * 12}))

    def test_a_write_that_is_read_in_the_next_period_is_no_reason(self):
        self.assertFalse(rings(self.alarm, {"written": [3, None] * 2 + [None] * 8, "read": [None, 3] * 2 + [None] * 8}))

    def test_it_looks_at_the_table_and_at_the_mapping(self):
        names = {id: (metric["Namespace"], metric["MetricName"]) for id, metric in watched(self.alarm).items()}
        wanted = {"written": ("AWS/DynamoDB", "ConsumedWriteCapacityUnits"), "read": ("AWS/Lambda", "PolledEventCount")}
        self.assertEqual(names, wanted)


class Silence(unittest.TestCase):
    nested = written(ROOT / "infra" / "alarms.yaml")
    alarm = nested["Resources"]["AuditStopped"]["Properties"]
    day = 86_400

    def rings(self, ages):
        """With the oldest age that the auditor told in each hour, the last one last."""
        assert (self.alarm["Statistic"], self.alarm["Period"], self.alarm["ComparisonOperator"]) == ("Maximum", 3600, "GreaterThanThreshold")
        breaches = [self.alarm["TreatMissingData"] == "breaching" if age is None else age > self.alarm["Threshold"] for age in ages]
        return sum(breaches[-self.alarm["EvaluationPeriods"] :]) >= self.alarm["DatapointsToAlarm"]

    def test_it_rings_where_the_auditor_is_silent(self):
        self.assertTrue(self.rings([self.day] + [None] * 6))
        self.assertFalse(self.rings([None] * 5 + [300]), "the first run of a new stack")
        self.assertFalse(self.rings([self.day, None, None, None, None, None]), "five hours")

    def test_it_rings_where_a_pass_takes_longer_than_a_week(self):
        self.assertTrue(self.rings([7 * self.day + 1] * 6))
        self.assertFalse(self.rings([7 * self.day] * 6))
        self.assertFalse(self.rings([2 * self.day] * 6), "a small table: a pass a day")

    def test_no_other_alarm_is_set_off_by_silence(self):
        silent = [name for name, alarm in alarms().items() if alarm["Properties"]["TreatMissingData"] != "notBreaching"]
        self.assertEqual(silent, ["AuditStopped"])


class Bursts(unittest.TestCase):
    """An alarm on a metric of DynamoDB keeps its state where data are missing, whatever TreatMissingData says."""

    of_dynamodb = {name: alarm for name, alarm in alarms().items() if "AWS/DynamoDB" in [it["Namespace"] for it in watched(alarm).values()]}

    def test_the_alarms_on_dynamodb_are_computed(self):
        throttles = {"TableReadThrottles", "TableWriteThrottles"}
        self.assertEqual(set(self.of_dynamodb), throttles | {"TransactionConflicts", "StreamNotRead"})
        for name, alarm in self.of_dynamodb.items():
            self.assertIn("Metrics", alarm["Properties"], name)

    def test_an_alarm_ends_with_its_burst_and_rings_at_the_next(self):
        for name, alarm in self.of_dynamodb.items():
            periods = alarm["Properties"]["EvaluationPeriods"]
            quiet, burst = [None] * periods, [1000] * periods
            for series, wanted in ((quiet, False), (burst, True), (burst + quiet, False), (burst + quiet + burst, True)):
                with self.subTest(name, series=len(series)):
                    # Where a stream isn't read, nothing is there of the mapping at all.
                    metrics = {id: series if id != "read" else [None] * len(series) for id in watched(alarm)}
                    self.assertEqual(rings(alarm, metrics), wanted)


class OneCall(unittest.TestCase):
    """The call that tells whether `FILL` makes zeros of a metric without data (docs/internals/unverified-on-aws.md)."""

    def test_it_asks_for_what_the_alarms_compute(self):
        page = (ROOT / "docs" / "internals" / "unverified-on-aws.md").read_text()
        queries = json.loads(re.search(r"--metric-data-queries '(\[.*?\])'", page, flags=re.S)[1])
        asked = {query["Expression"] for query in queries if "Expression" in query}
        computed = [one["Expression"] for alarm in alarms().values() for one in alarm["Properties"].get("Metrics", []) if "Expression" in one]
        self.assertEqual(asked, {expression.replace("conflicts", "throttles") for expression in computed})
        metrics = {query["Id"]: query["MetricStat"]["Metric"] for query in queries if "MetricStat" in query}
        of_alarms = {(it["Namespace"], it["MetricName"]) for alarm in alarms().values() for it in watched(alarm).values()}
        self.assertLessEqual({(it["Namespace"], it["MetricName"]) for it in metrics.values()}, of_alarms)
        # What an expression names is there, else the whole call fails.
        for expression in asked:
            self.assertLessEqual(set(re.findall(r"\b[a-z]+\b", expression)), set(metrics))

    def test_the_aws_cli_takes_it(self):
        """Up to the credentials, which it hasn't."""
        block = re.search(r"^```sh\n(aws cloudwatch get-metric-data.*?)^```$", (ROOT / "docs" / "internals" / "unverified-on-aws.md").read_text(), flags=re.M | re.S)[1]
        nowhere = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS": "1"}
        environment = os.environ | nowhere | {"PATH": f"{ROOT / '.cache/awscli/bin'}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", block], env=environment, capture_output=True, text=True)
        self.assertIn("Could not connect", done.stderr)


class RollingBack(unittest.TestCase):
    template = written()["Resources"]

    def groups(self):
        """For each function that is deployed gradually, the seconds for which a new version has a tenth of the traffic, and its alarms."""
        outputs = {name: output["Value"]["Ref"] for name, output in written(ROOT / "infra" / "alarms.yaml")["Outputs"].items()}
        for id, resource in self.template.items():
            if preference := resource.get("Properties", {}).get("DeploymentPreference"):
                minutes = int(re.fullmatch("Canary10Percent([0-9]+)Minutes", preference["Type"])[1])
                (alarms_of_production,) = (names for names in preference["Alarms"]["Fn::If"][1:] if len(names) > 1)
                yield id, minutes * 60, {outputs[name["Fn::GetAtt"][1].removeprefix("Outputs.")] for name in alarms_of_production}

    def test_every_alarm_of_a_group_rings_before_its_version_gets_all_the_traffic(self):
        groups = list(self.groups())
        self.assertEqual([id for id, *_ in groups], ["StreamHandler", "ApiReader", "ApiWriter"])
        for id, seconds, names in groups:
            for name in names:
                properties = alarms()[name]["Properties"]
                # The version begins within a period, a metric arrives within another, and the shift back takes less than a third.
                needed = (properties["DatapointsToAlarm"] + 3) * properties["Period"]
                with self.subTest(name):
                    self.assertLessEqual(needed, seconds)
                    # It rises for as long as nothing succeeds: it could only keep a fix from being deployed.
                    self.assertNotEqual(properties["MetricName"], "IteratorAge")

    def test_an_api_that_answers_nothing_but_500_is_rolled_back(self):
        references = {"ApiReader": "Reader", "ApiWriter": "Writer"}
        for id, _, names in self.groups():
            if id not in references:
                continue
            properties = alarms()[f"{references[id]}ServerErrors"]["Properties"]
            self.assertIn(f"{references[id]}ServerErrors", names)
            self.assertEqual((properties["Namespace"], properties["MetricName"], properties["Statistic"]), ("Sapwood", "ServerErrors", "Average"))
            self.assertEqual(properties["Dimensions"], [{"Name": "FunctionName", "Value": {"Ref": id}}])
            # A tenth of the answers, each a one among zeros.
            self.assertEqual((properties["ComparisonOperator"], properties["Threshold"] < 0.1), ("GreaterThanThreshold", True))


class NewStack(unittest.TestCase):
    def test_those_alone_tell_of_an_end_that_the_page_names(self):
        """A new alarm has no data, and then becomes OK, which is news."""
        page = (ROOT / "docs" / "operate" / "runbooks" / "README.md").read_text()
        named = re.search(r"sends an OK only for ([^.]*)\.", page.replace("\n", " "))[1]
        telling = {name for name, alarm in alarms().items() if "OKActions" in alarm["Properties"]}
        self.assertEqual(set(re.findall("`(\\w+)`", named)), telling)

    def test_everybody_hears_of_every_alarm(self):
        self.assertEqual([name for name, alarm in alarms().items() if "AlarmActions" not in alarm["Properties"]], [])
