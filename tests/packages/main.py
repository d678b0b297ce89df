"""The packages of the command line. The arguments are the suites to run: `helpers` (the helpers for tests, on the binary that
SAPWOOD_BINARY names), or `files`, `python`, `npm` and `image` (what `.ci/packages` has made, in target/dist or where DIST says). The last
line counts as the suites of cargo do."""

import signal
import sys
import time
import unittest

SUITES = ("helpers", "files", "python", "npm", "image")


class InOrder(unittest.TestLoader):
    """Tests in the order in which they are written: an installation is a story."""

    def getTestCaseNames(self, case):
        return [name for name in vars(case) if name.startswith("test")]


class Result(unittest.TestResult):
    """A line for each test, as cargo has it."""

    passed = failed = 0
    began = time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: {reason}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.tell(test, self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.tell(test, self.errors[-1][1])

    def addSubTest(self, test, part, error):
        super().addSubTest(test, part, error)
        if error:
            self.tell(part, self.failures[-1][1] if self.failures else self.errors[-1][1])

    def tell(self, test, trouble=None):
        words = test.id().split(".test_", 1)[-1].replace("_", " ")
        print(f"test {words} ... {'FAILED' if trouble else 'ok'} ({time.monotonic() - self.began:.1f} s)", flush=True)
        if trouble:
            self.failed += 1
            print(trouble, flush=True)
        else:
            self.passed += 1


def main(names):
    # As Ctrl-C: whatever has been started is ended, too.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    result = Result()
    for name in names or SUITES:
        print(f"\n{name}", flush=True)
        InOrder().loadTestsFromName(f"suite_{name}").run(result)
    print(f"\ntest result: packages. {result.passed} passed; {result.failed} failed;")
    return result.failed != 0 or result.passed == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
