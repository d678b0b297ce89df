"""The `sam` commands of the documents, read by SAM's own parser: it drops what it can't read without a word. And what they are installed by."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
import unittest
from importlib.metadata import distribution, version

# Not `packaging` itself, which is a suite of ours here.
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.specifiers import SpecifierSet
from pip._vendor.packaging.utils import canonicalize_name
from samcli.cli.types import CfnParameterOverridesType
from samcli.commands.deploy.guided_context import GuidedContext
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

    def test_guided_is_for_new_stacks_and_the_pages_say_so(self):
        """It offers the template's default, whatever the stack has, and Enter sends it."""
        offered = GuidedContext._get_parameter_value("TenantClaim", self.known["TenantClaim"], {})
        self.assertEqual(offered, "")
        explaining = [path for path in DOCUMENTS if "sam deploy --guided`" in path.read_text()]
        self.assertLessEqual({"deploy.md", "parameters.md"}, {path.name for path in explaining})
        for path in explaining:
            self.assertRegex(" ".join(path.read_text().split()), r"only for a new stack|for new stacks only", path.name)


    def test_the_first_page_names_its_shell_and_the_stack_for_trying_things(self):
        page = (ROOT / "docs" / "operate" / "deploy.md").read_text()
        (deploy,) = re.findall(r"^sam deploy .*$", page, flags=re.M)
        self.assertIn("production", deploy)
        self.assertIn("sam deploy --config-env dev", deploy)
        self.assertRegex(page, "for bash: on Windows")


class Installing(unittest.TestCase):
    """The lines that install what deploys can be resolved. The venv of this suite is a solution of them."""

    deploying = (ROOT / "docs" / "operate" / "deploy.md").read_text()
    packages = (ROOT / "docs" / "operate" / "package-cdk-terraform.md").read_text()
    list_of_a_package = (ROOT / ".ci" / "requirements" / "deploy.txt").read_text()

    def test_what_the_documents_install_goes_together(self):
        """It is the list of this suite's own venv."""
        places = (*DOCUMENTS, ROOT / "docs" / "workflows" / "deploy.yml")
        lists = {name for path in places for name in re.findall(r"--require-hashes -r (\.ci/requirements/\S+)", path.read_text())}
        self.assertEqual(lists, {".ci/requirements/sam.txt"})
        lines = [line.rstrip(" \\") for line in (ROOT / ".ci" / "requirements" / "sam.txt").read_text().splitlines()]
        pins = [Requirement(line) for line in lines if re.match("[a-z]", line)]
        self.assertGreater(len(pins), 30)
        for pin in (pin for pin in pins if not pin.marker or pin.marker.evaluate()):
            with self.subTest(pin.name):
                self.assertIn(version(pin.name), pin.specifier, "of another version nobody knows what it needs")
        done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_list_of_a_package_goes_together_on_every_python_that_the_pages_name(self):
        """With `--no-deps` pip doesn't look."""
        oldest = self.oldest(self.packages)
        for python in (oldest, "3.13"):
            environment = {"python_version": python, "python_full_version": f"{python}.0"}
            lines = [Requirement(line.rstrip(" \\")) for line in self.list_of_a_package.splitlines() if re.match("[a-z]", line)]
            pinned = {canonicalize_name(it.name): it for it in lines if not it.marker or it.marker.evaluate(environment)}
            looked_at = 0
            for name, pin in pinned.items():
                try:
                    known = distribution(name)
                except LookupError:
                    continue
                if known.version not in pin.specifier:
                    continue
                for needed in map(Requirement, known.requires or []):
                    extras = [environment | {"extra": extra} for extra in ("", *pin.extras)]
                    if needed.marker and not any(needed.marker.evaluate(it) for it in extras):
                        continue
                    looked_at += 1
                    (exact,) = (it.version for it in pinned[canonicalize_name(needed.name)].specifier)
                    self.assertTrue(needed.specifier.contains(exact, prereleases=True), f"{name} needs {needed}, the list has {exact}")
            self.assertGreater(looked_at, 60)

    def test_the_pages_name_a_python_that_is_new_enough(self):
        packed = (ROOT / "infra" / "package" / "__main__.py").read_text()
        pages = {
            "docs/operate/package-cdk-terraform.md": self.packages,
            "infra/package": packed,
            "infra/smoke": (ROOT / "infra" / "smoke" / "__main__.py").read_text(),
        }
        named = {name: self.oldest(text) for name, text in pages.items()}
        self.assertEqual(len(set(named.values())), 1, named)
        for name in ("aws-sam-cli", "cargo-lambda", "ziglang", "boto3"):
            needs = distribution(name).metadata["Requires-Python"] or ">=3"
            for page in (self.packages, self.deploying):
                self.assertIn(f"{self.oldest(page)}.0", SpecifierSet(needs), name)
        # The list that the first page installs was made for it (.ci/tools).
        self.assertEqual(self.oldest(self.deploying), "3.11")
        self.assertIn("--python-version 3.11", (ROOT / ".ci" / "tools").read_text())

    def oldest(self, text):
        return re.search(r"Python (3\.[0-9]+)(?: or later|, boto3)", text)[1]


class Signing(unittest.TestCase):
    """The block that signs a request (docs/operate/secure-api.md), with stand-ins for the stack, the AWS CLI and curl."""

    STAND_INS = """
        output() { echo https://a1b2.execute-api.ap-southeast-2.amazonaws.com; }
        aws() { [ "$1 $2" = "configure export-credentials" ] && printf 'export %s\\n' AWS_ACCESS_KEY_ID=short AWS_SECRET_ACCESS_KEY=lived AWS_SESSION_TOKEN=token; }
        curl() { printf '%s\\n' "$@"; }
    """

    def test_the_region_is_the_apis_and_the_shell_keeps_its_own_credentials(self):
        page = (ROOT / "docs" / "operate" / "secure-api.md").read_text()
        block = re.search(r"^## Use IAM\n.*?^```sh\n(.*?)^```$", page, flags=re.M | re.S)[1]
        script = f'{self.STAND_INS}\n{block}\necho "after: ${{AWS_ACCESS_KEY_ID:-none}}"'
        environment = {"PATH": os.environ["PATH"], "AWS_REGION": "eu-west-1"}
        said = subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertIn("aws:amz:ap-southeast-2:execute-api", said)
        self.assertIn("short:lived", said)
        self.assertIn("x-amz-security-token: token", said)
        self.assertEqual(said[-1], "after: none")

    def test_no_page_asks_the_file_of_the_profiles_for_the_region(self):
        """`aws configure get` knows no variables."""
        asking = [path.name for path in DOCUMENTS if "configure get region" in path.read_text()]
        self.assertEqual(asking, [])
