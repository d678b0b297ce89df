"""The packages of the command line. The arguments are the suites to run: `helpers` (the helpers for tests, on the binary that
SAPWOOD_BINARY names), or `files`, `python`, `npm`, `image` and `uploads` (what `.ci/packages` has made, in target/dist or where DIST says). The last
line counts as the suites of cargo do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from suites import run

SUITES = ("helpers", "files", "python", "npm", "image", "uploads")


if __name__ == "__main__":
    run("packages", [f"suite_{name}" for name in sys.argv[1:] or SUITES])
