"""`sam build` of all functions for this machine's processor, and what comes of it.

The gate builds them as the tests are built, so that nothing is compiled twice; in full (REHEARSAL=full) they are built as for AWS.
"""

import os
import subprocess
import time
import unittest
import zipfile
from io import BytesIO

from emulator import BUILT
from templates import ARCHITECTURE, FULL, ROOT

LIKE_THE_TESTS = {"SAM_BUILD_MODE": "debug", "CARGO_LAMBDA_COMPILER": "cargo"}
ZIPPED_MAX = 10_000_000
FUNCTIONS = ("StreamHandler", "ApiReader", "ApiWriter")


class Building(unittest.TestCase):
    def test_sam_builds_all_functions(self):
        began = time.monotonic()
        command = ["sam", "build", "--config-env", "dev", "--parameter-overrides", f"Architecture={ARCHITECTURE}"]
        environment = os.environ if FULL else os.environ | LIKE_THE_TESTS
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(f"sam build: {time.monotonic() - began:.0f} s")
        if not FULL:
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
