"""The `sam` commands of the documents, read by SAM's own parser: it drops what it can't read without a word."""

import re
import shlex
import tomllib
import unittest

from samcli.cli.types import CfnParameterOverridesType
from templates import ROOT, written

DOCUMENTS = (*(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").rglob("*.md")))
NAMED = re.compile(r"(?<![\w=/])([A-Z]\w+)=")


def read(values):
    return CfnParameterOverridesType().convert(values, None, None)


def commands():
    """What follows `--parameter-overrides` in the documents, as a shell hands it over."""
    for document in DOCUMENTS:
        for line in document.read_text().splitlines():
            for rest in re.findall(r"--parameter-overrides ([^`#\\]+)", line):
                words = shlex.split(rest)
                yield f"{document.name}: {rest.strip()}", [word for word in words if "=" in word]


class Commands(unittest.TestCase):
    known = written()["Parameters"]

    def says(self, values):
        """Checks that SAM reads every parameter that is written, and that the template has it."""
        wanted = {name for value in values for name in NAMED.findall(" " + value)}
        self.assertEqual(set(read(tuple(values))), wanted)
        self.assertLessEqual(wanted, set(self.known))

    def test_sam_reads_every_command_of_the_documents_as_it_is_meant(self):
        found = list(commands())
        self.assertGreaterEqual(len(found), 2)
        for name, values in found:
            with self.subTest(name):
                self.says(values)

    def test_sam_reads_both_configurations_as_they_are_meant(self):
        configuration = tomllib.loads((ROOT / "samconfig.toml").read_text())
        given = [stage["deploy"]["parameters"].get("parameter_overrides") for stage in configuration.values() if stage != 0.1]
        self.assertEqual(len(given), 2)
        for overrides in filter(None, given):
            with self.subTest(overrides):
                self.says([overrides])

    def test_an_empty_value_is_written_as_the_documents_say(self):
        self.assertEqual(read(('StreamHandlerConcurrency=""', "FanOut=on")), {"StreamHandlerConcurrency": "", "FanOut": "on"})
        # Without the quotes SAM drops it in a list of one text, which is how samconfig.toml has it.
        self.assertEqual(read(("StreamHandlerConcurrency= FanOut=on",)), {"FanOut": "on"})

    def test_no_document_shows_an_empty_value_that_sam_drops(self):
        for document in DOCUMENTS:
            for line in document.read_text().splitlines():
                for name in re.findall(r"(?<!-)\b([A-Z]\w+)=(?=[`\s])", line):
                    self.assertTrue(name not in self.known or "sapwood dev" in line, f"{document.name}: {line}")
