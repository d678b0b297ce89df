"""Sapwood beside other programs that people use for the same. It compares the tables of docs/decide/benchmarks.md (`trees`) and of
docs/decide/openfga-spicedb.md (`permissions`) with what it measures; both, if neither is named. With `--write` it writes the tables.
`.ci/peers` installs and builds what this needs.

Only events are counted: requests, writes, and whether an answer is right, refused or cut short. So a table is the same on every machine, but for
what is left to chance where moves overlap."""

import re
import signal
import sys

import permissions
import trees
from peer import ROOT

PAGES = {"trees": (ROOT / "docs/decide/benchmarks.md", trees), "permissions": (ROOT / "docs/decide/openfga-spicedb.md", permissions)}


def main(arguments):
    if not set(arguments) <= {"--write", *PAGES}:
        print(__doc__)
        return 2
    # As Ctrl-C: the servers are ended, too.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    passed = failed = 0
    for name, (page, measures) in PAGES.items():
        if name not in arguments and set(arguments) & set(PAGES):
            continue
        for part, measured in measures.parts().items():
            if "--write" in arguments:
                page.write_text(with_part(page.read_text(), part, measured))
                continue
            right, wrong = compare(page, part, measured, measures.alike)
            passed, failed = passed + right, failed + wrong
    if failed:
        print("`.ci/peers --write` writes the tables.")
    print(f"test result: peers. {passed} passed; {failed} failed;")
    return bool(failed)


def pieces(text, part):
    """The page around a part, and the part's lines."""
    marks = rf"(.*<!-- {part} -->\n\n)(.*?)(\n<!-- end of {part} -->.*)"
    before, lines, after = re.fullmatch(marks, text, re.DOTALL).groups()
    return before, lines.splitlines(keepends=True), after


def with_part(text, part, lines):
    before, _, after = pieces(text, part)
    return "".join([before, *lines, after])


def compare(page, part, measured, alike):
    """How many lines are as the page has them, and how many aren't."""
    _, lines, _ = pieces(page.read_text(), part)
    for line in measured:
        print(line, end="")
    told = [alike(line) for line in lines]
    found = [alike(line) for line in measured]
    failed = [("only in the page", line) for line in lines if alike(line) not in found]
    failed += [("not in the page", line) for line in measured if alike(line) not in told]
    for where, line in failed:
        print(f"{where}: {line}", end="")
    return sum(line in told for line in found), len(failed) or int(told != found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
