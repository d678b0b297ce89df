"""Sapwood's inherited grants beside authorization services. It compares the table of docs/permissions-of-your-users.md with what it measures.
With `--write` it writes the table. `.ci/peers` installs and builds what this needs.

Only events are counted: requests, writes, and whether an answer is right, refused or cut short. So the table is the same on every machine."""

import re
import signal
import sys

from peer import ROOT
from permissions import rows

GUIDE = ROOT / "docs/permissions-of-your-users.md"


def main(arguments):
    if arguments not in ([], ["--write"]):
        print(__doc__)
        return 2
    # As Ctrl-C: the servers are ended, too.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    measured = rows()
    text = GUIDE.read_text()
    before, begin, table, end, after = re.fullmatch(r"(.*)(<!-- peers -->\n\n)(.*?)(\n?<!-- end of peers -->)(.*)", text, re.DOTALL).groups()
    if arguments:
        GUIDE.write_text("".join([before, begin, *measured, "\n", end.lstrip(), after]))
        return 0
    lines = table.splitlines(keepends=True)
    for line in measured:
        print(line, end="")
    failed = [line for line in lines if line not in measured] + [line for line in measured if line not in lines]
    for line in failed:
        print(f"{'not in the guide' if line in measured else 'only in the guide'}: {line}", end="")
    if failed:
        print("`.ci/peers --write` writes the guide's table.")
    print(f"test result: peers. {sum(line in lines for line in measured)} passed; {len(failed)} failed;")
    return bool(failed) or lines != measured


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
