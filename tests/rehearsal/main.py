"""The rehearsal: all suites named on the command line, or all there are. The last line counts as the suites of cargo do."""

import signal
import sys
import time
import unittest

SUITES = ("linting", "commands", "permissions", "versions", "alarms", "filtering", "invoking", "smoke", "building", "packaging", "deployment", "auditing", "examining", "walking", "watching")


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


def main(names):
    # As Ctrl-C: whatever has been started is ended, too.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) == signal.SIG_DFL:
            signal.signal(ending, signal.default_int_handler)
    loader, result = InOrder(), Result()
    for name in names or SUITES:
        print(f"\n{name}", flush=True)
        loader.loadTestsFromName(name).run(result)
    print(f"\ntest result: rehearsal. {result.passed} passed; {result.failed} failed;")
    return result.failed != 0 or result.passed == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
