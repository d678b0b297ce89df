"""The alarm that is computed: what the console would show for given metrics, and when it rings. The emulator has no metric math. And the alarm
that silence sets off."""

import unittest

from templates import ROOT, written


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
    assert properties["ComparisonOperator"] == "GreaterThanThreshold", properties
    window = values[-properties["EvaluationPeriods"] :]
    return sum(value > properties["Threshold"] for value in window if value is not None) >= properties["DatapointsToAlarm"]


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
        metrics = {one["Id"]: one["MetricStat"]["Metric"] for one in self.alarm["Properties"]["Metrics"] if "MetricStat" in one}
        names = {id: (metric["Namespace"], metric["MetricName"]) for id, metric in metrics.items()}
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
        alarms = [it for file in ("alarms.yaml", "mapping-alarms.yaml") for it in written(ROOT / "infra" / file)["Resources"].items()]
        silent = [name for name, alarm in alarms if alarm["Properties"]["TreatMissingData"] != "notBreaching"]
        self.assertEqual(silent, ["AuditStopped"])
