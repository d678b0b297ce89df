"""The rehearsal: all suites named on the command line, or all there are. The last line counts as the suites of cargo do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from suites import run

SUITES = ("linting", "commands", "permissions", "versions", "alarms", "filtering", "invoking", "smoke", "building", "packaging", "deployment", "auditing", "examining", "walking", "watching")


if __name__ == "__main__":
    run("rehearsal", sys.argv[1:] or SUITES)
