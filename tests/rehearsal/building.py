"""`sam build` of all functions for this machine's processor, and what comes of it.

The gate builds them as the tests are built, so that nothing is compiled twice; in full (REHEARSAL=full) they are built as for AWS.
"""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
import zipfile
from io import BytesIO
from pathlib import Path

from emulator import BUILT
from templates import ARCHITECTURE, FULL, NESTED, ROOT, for_here, write, written

LIKE_THE_TESTS = {"SAM_BUILD_MODE": "debug", "CARGO_LAMBDA_COMPILER": "cargo"}
ZIPPED_MAX = 10_000_000
FUNCTIONS = ("StreamHandler", "ApiReader", "ApiWriter", "Auditor")


# What takes the place of cargo where only SAM is of interest: it "builds" a function that says what shared/ was then.
CARGO = """#!/bin/sh
[ "$1 $2" = "lambda build" ] || exec "$CARGO_BEHIND" "$@"
while [ $# -gt 0 ]; do [ "$1" = --bin ] && bin=$2; shift; done
mkdir -p "target/lambda/$bin" && cat "$IN_SHARED" >"target/lambda/$bin/bootstrap"
"""


def without_metric_math(template):
    """The emulator refuses such alarms; cfn-lint knows them."""
    template["Resources"] = {id: it for id, it in template["Resources"].items() if "Metrics" not in it["Properties"]}
    return template


def linked_target():
    """A directory of what the tests were built with, in hard links. `cargo lambda build` moves a function's file away, and tests run that file."""
    target = ROOT / "target"
    linked = target / "sam"
    shutil.rmtree(linked, ignore_errors=True)
    linked.mkdir()
    built = [target / name for name in ("debug", os.environ["CARGO_BUILD_TARGET"]) if (target / name).exists()]
    subprocess.run(["cp", "--archive", "--link", *built, linked], check=True)
    # The lock would be the same file.
    for lock in linked.glob("**/.cargo-lock"):
        lock.unlink()
    return linked


class Building(unittest.TestCase):
    def build(self, directory, environment, *arguments):
        command = ["sam", "build", *arguments]
        done = subprocess.run(command, cwd=directory, env=os.environ | environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_change_in_shared_reaches_every_function(self):
        """SAM's cache would look at a function's own directory alone, and deploy yesterday's code."""
        with tempfile.TemporaryDirectory() as directory:
            copy, shim = Path(directory) / "copy", Path(directory) / "bin" / "cargo"
            ignored = shutil.ignore_patterns("target", ".git", ".cache", ".aws-sam")
            shutil.copytree(ROOT, copy, ignore=ignored)
            shim.parent.mkdir()
            shim.write_text(CARGO)
            shim.chmod(0o755)
            changed = copy / "shared" / "keys" / "src" / "lib.rs"
            environment = {"PATH": f"{shim.parent}:{os.environ['PATH']}", "CARGO_BEHIND": shutil.which("cargo"), "IN_SHARED": str(changed)}
            # The caller's would be another directory.
            environment["CARGO_TARGET_DIR"] = str(copy / "target")
            for stage, version in (("default", "one"), ("default", "two"), ("dev", "three"), ("dev", "four")):
                changed.write_text(version)
                self.build(copy, environment, "--config-env", stage)
                built = {(copy / ".aws-sam" / "build" / function / "bootstrap").read_text() for function in FUNCTIONS}
                self.assertEqual(built, {version}, stage)

    def test_sam_builds_all_functions(self):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            # The template for this machine, with the nested stacks beside it.
            template = Path(directory) / "template.yaml"
            write(for_here(written()), template)
            (template.parent / "infra").mkdir()
            for nested in NESTED:
                write(without_metric_math(written(nested)), template.parent / "infra" / nested.name)
            like_the_tests = {} if FULL else LIKE_THE_TESTS | {"CARGO_TARGET_DIR": str(linked_target())}
            self.build(ROOT, like_the_tests, "--template-file", template, "--base-dir", ROOT)
        print(f"sam build: {time.monotonic() - began:.0f} s")
        if not FULL:
            shutil.rmtree(ROOT / "target" / "sam")
            # Symbols would be packed and uploaded with each deployment.
            subprocess.run(["strip", *(BUILT.parent / function / "bootstrap" for function in FUNCTIONS)], check=True)

    @unittest.skipUnless(FULL, "the size counts as it is built for AWS")
    def test_no_function_is_larger_than_ten_megabytes_zipped(self):
        for function in FUNCTIONS:
            directory = BUILT.parent / function
            self.assertEqual([path.name for path in directory.iterdir()], ["bootstrap"])
            bootstrap = (directory / "bootstrap").read_bytes()
            packed = BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("bootstrap", bootstrap)
            zipped = len(packed.getvalue())
            print(f"{function}: {len(bootstrap) / 1e6:.2f} MB, zipped {zipped / 1e6:.2f} MB")
            self.assertLessEqual(zipped, ZIPPED_MAX, function)

    def test_the_processor_is_the_one_that_was_asked_for(self):
        for function in FUNCTIONS:
            head = (BUILT.parent / function / "bootstrap").read_bytes()[:20]
            # ELF, 64 bits, little end first; and the machine.
            machine = {"x86_64": 62, "arm64": 183}[ARCHITECTURE]
            self.assertEqual((head[:6], head[18]), (b"\x7fELF\x02\x01", machine), function)
