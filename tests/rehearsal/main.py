"""The rehearsal: the suites, or the parts, that the command line names, or all there are. The last line counts as the suites of cargo do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from suites import run

# The gate has those that run beside one another: what is done on this machine, and what is deployed on ministack. `.ci/full` has the long ones, too.
PARTS = {
    "local": ("linting", "commands", "permissions", "attaching", "versions", "alarms", "filtering", "invoking", "smoke"),
    "deployed": ("building", "deployment"),
    "long": ("packaging", "auditing", "examining", "walking", "watching"),
}


if __name__ == "__main__":
    asked = sys.argv[1:] or PARTS
    run("rehearsal", [suite for name in asked for suite in PARTS.get(name, (name,))])
