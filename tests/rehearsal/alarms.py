"""The alarm that is computed: what the console would show for given metrics, and when it rings. The emulator has no metric math."""

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
