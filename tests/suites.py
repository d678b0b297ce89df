"""How suites in Python run: a line for each test, and a last line that counts as the suites of cargo do."""

import signal
import sys
import time
import unittest


class InOrder(unittest.TestLoader):
    """Tests in the order in which they are written: a deployment is a story."""

    def getTestCaseNames(self, case):
        return [name for name in vars(case) if name.startswith("test")]


class Result(unittest.TestResult):
    """A line for each test, and for each part of one that has parts, as cargo has it."""

    passed = failed = 0
    began = time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.tell(test, self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.tell(test, self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: {reason}", flush=True)

    def addSubTest(self, test, part, error):
        if error:
            self.addFailure(part, error)
        else:
            self.addSuccess(part)

    def tell(self, test, trouble=None):
        words = test.id().split(".test_", 1)[-1].replace("_", " ")
        print(f"test {words} ... {'FAILED' if trouble else 'ok'} ({time.monotonic() - self.began:.1f} s)", flush=True)
        self.began = time.monotonic()
        if trouble:
            self.failed += 1
            print(trouble, flush=True)
        else:
            self.passed += 1


def run(what, suites):
    """Runs suites, by the names of their modules, and ends the process."""
    # As Ctrl-C: whatever has been started is ended, too.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) == signal.SIG_DFL:
            signal.signal(ending, signal.default_int_handler)
    loader, result = InOrder(), Result()
    for suite in suites:
        print(f"\n{suite.removeprefix('suite_')}", flush=True)
        loader.loadTestsFromName(suite).run(result)
    print(f"\ntest result: {what}. {result.passed} passed; {result.failed} failed;")
    sys.exit(result.failed != 0 or result.passed == 0)
