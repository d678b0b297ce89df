"""The rehearsal: all suites named on the command line, or all there are. The last line counts as the suites of cargo do."""

import sys
import time
import unittest

SUITES = ("linting", "permissions", "filtering", "building", "deployment")


class InOrder(unittest.TestLoader):
    """Tests in the order in which they are written: a deployment is a story."""

    def getTestCaseNames(self, case):
        return [name for name in vars(case) if name.startswith("test")]


class Result(unittest.TestResult):
    """A line for each test, as cargo has it."""

    passed = 0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def line(self, test, outcome):
        words = test.id().split(".")[-1].removeprefix("test_").replace("_", " ")
        print(f"test {words} ... {outcome} ({time.monotonic() - self.began:.1f} s)", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1
        self.line(test, "ok")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, "FAILED")
        print(self.failures[-1][1], flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        print(f"{test}: ERROR\n{self.errors[-1][1]}", flush=True)


def main(names):
    loader, result = InOrder(), Result()
    for name in names or SUITES:
        print(f"\n{name}", flush=True)
        loader.loadTestsFromName(name).run(result)
    failed = len(result.failures) + len(result.errors)
    print(f"\ntest result: rehearsal. {result.passed} passed; {failed} failed;")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
