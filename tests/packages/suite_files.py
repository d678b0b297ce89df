"""The files of `.ci/packages`: their bytes, the binaries in them, the bill of materials."""

import hashlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path

from given import DIST, HERE_PLATFORM, ROOT, Dev, made, ran, scenario

MAKER = ROOT / ".cache" / "packages" / "bin" / "python"
MOMENT = "1795251900"
# A panic names the file of a crate's source.
SOURCE = re.compile(rb"/registry/src/[^/\0]+/([\w.+-]+)/")
# What only tests and build scripts use, and what runs in the compiler alone.
NOT_LINKED = {"cc", "mimalloc", "proptest", "rcgen", "sapwood-simulation", "sapwood-tests", "serde_derive"}
LINKED = {"sapwood-cli", "clap", "dynoxide-rs", "libsqlite3-sys", "aws-lc-sys", "sapwood-core", "stream-handler", "std", "musl"}
TARGETS = {"linux-x64": "x86_64-unknown-linux-musl", "linux-arm64": "aarch64-unknown-linux-musl"}
VALIDATE = """
import json, sys
from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = sys.stdin.read()
if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
    sys.exit(str(wrong)[:300])
Bom.from_json(json.loads(text)).validate()
"""


def binaries():
    """The binaries in the plain archives, by their platforms."""
    found = {}
    for name in TARGETS:
        for path in DIST.glob(f"sapwood-*-{name}.tar.gz"):
            with tarfile.open(path) as archive:
                (entry,) = (entry for entry in archive if entry.name.endswith("/sapwood"))
                found[name] = archive.extractfile(entry).read()
    return found


def packed(output, binaries, root=ROOT, umask=0o022, more=()):
    """Runs the script of a checkout on binaries."""
    output.mkdir()
    given = []
    for name, binary in binaries.items():
        (path := output / name).write_bytes(binary)
        given += ["--binary", f"{name}={path}"]
    command = [MAKER, root / "infra" / "packages", *given, "--commit", "8e3f1c0", "--output", output / "dist", *more]
    ran(*command, cwd=output, umask=umask, env=os.environ | {"SOURCE_DATE_EPOCH": MOMENT})
    return {path.name: path.read_bytes() for path in (output / "dist").iterdir()}


def segments(binary):
    """The kinds of an ELF file's segments."""
    start, size, count = struct.unpack_from("<Q", binary, 32)[0], *struct.unpack_from("<HH", binary, 54)
    return [struct.unpack_from("<I", binary, start + size * n)[0] for n in range(count)]


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.binaries = binaries()
        assert HERE_PLATFORM in cls.binaries, "run .ci/packages first"

    def temporary(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return Path(directory.name)

    def test_the_checksums_are_those_of_all_files(self):
        ran("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=DIST)
        listed = {line.split("  ")[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed, {path.name for path in DIST.iterdir()} - {"SHA256SUMS"})

    def test_another_checkout_and_another_umask_give_the_same_bytes(self):
        directory = self.temporary()
        elsewhere = directory / "elsewhere"
        ignored = shutil.ignore_patterns(".git", ".cache", ".aws-sam", "target", "__pycache__", "node_modules")
        shutil.copytree(ROOT, elsewhere, ignore=ignored, symlinks=True)
        here, there = packed(directory / "one", self.binaries), packed(directory / "other", self.binaries, elsewhere, 0o077)
        self.assertEqual(set(here), {path.name for path in DIST.iterdir()})
        self.assertEqual({name for name in here if here[name] != there.get(name)}, set())

    def test_a_binary_for_another_platform_is_refused(self):
        (directory := self.temporary() / "file").write_bytes(self.binaries[HERE_PLATFORM])
        command = [MAKER, ROOT / "infra" / "packages", "--binary", f"win32-x64={directory}"]
        self.assertIn("isn't built for win32-x64", ran(*command, code=2, env=os.environ | {"SOURCE_DATE_EPOCH": MOMENT}))

    def test_binaries_are_static_and_have_no_path_of_this_machine(self):
        for name, binary in self.binaries.items():
            with self.subTest(name):
                self.assertEqual(binary[:4], b"\x7fELF")
                # Neither a loader (3) nor, with it, libraries of this machine.
                self.assertNotIn(3, segments(binary))
                for path in (ROOT, Path.home(), sys.prefix):
                    self.assertNotIn(f"{path}/".encode(), binary)
                print(f"{name}: {len(binary) / 1e6:.1f} MB")

    @unittest.skipUnless(shutil.which("qemu-aarch64-static"), "the binary for arm64: nothing runs it here (.ci/tools qemu)")
    def test_the_binary_for_arm64_runs_in_an_emulator(self):
        """It serves the quick start's requests. The demo would take minutes."""
        if "linux-arm64" not in self.binaries:
            self.skipTest("the binary for arm64: it isn't built")
        (path := self.temporary() / "sapwood").write_bytes(self.binaries["linux-arm64"])
        path.chmod(0o755)
        emulated = ("qemu-aarch64-static", path)
        self.assertRegex(ran(*emulated, "--version"), r"^sapwood \d")
        with Dev(*emulated, "dev", "--json", "--dynamodb=127.0.0.1:0", "--http=127.0.0.1:0") as dev:
            scenario(self, dev.api)

    def test_all_packages_have_the_same_binary(self):
        for name, binary in self.binaries.items():
            wheel = {"linux-x64": "x86_64", "linux-arm64": "aarch64"}[name]
            with zipfile.ZipFile(made(f"*{wheel}.whl")) as archive:
                (script,) = (entry for entry in archive.namelist() if "/scripts/" in entry)
                self.assertEqual(archive.read(script), binary)
            with tarfile.open(made(f"sapwood-{name}-*.tgz")) as archive:
                self.assertEqual(archive.extractfile("package/bin/sapwood").read(), binary)

    def test_the_bill_of_materials_is_valid_and_lists_what_is_linked(self):
        locked = {crate["name"] for crate in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
        self.assertLessEqual(NOT_LINKED | LINKED - {"std", "musl"}, locked)
        for name, binary in self.binaries.items():
            with self.subTest(name):
                text = made(f"*-{name}.cdx.json").read_text()
                done = subprocess.run([ROOT / ".cache/schemas/bin/python", "-c", VALIDATE], input=text, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                bill = json.loads(text)
                components = {component["name"]: component for component in bill["components"]}
                named = {f"{component['name']}-{component['version']}" for component in bill["components"]}
                found = {crate.decode() for crate in SOURCE.findall(binary)}
                self.assertGreater(len(found), 50)
                self.assertLessEqual(found, named)
                self.assertLessEqual(LINKED, set(components))
                self.assertEqual(NOT_LINKED & set(components), set())
                self.assertEqual(components["sapwood-cli"]["hashes"], [{"alg": "SHA-256", "content": hashlib.sha256(binary).hexdigest()}])
                self.assertIn({"name": "sapwood:target", "value": TARGETS[name]}, bill["metadata"]["component"]["properties"])

    def test_packages_for_other_systems_are_made_of_their_binaries(self):
        """Nobody builds these here, so they are files that begin as such binaries do."""
        mach_o = b"\xcf\xfa\xed\xfe"
        others = {"darwin-arm64": mach_o + b"\x0c\0\0\x01", "darwin-x64": mach_o + b"\x07\0\0\x01", "win32-x64": b"MZ"}
        files = packed(self.temporary() / "it", others | {HERE_PLATFORM: self.binaries[HERE_PLATFORM]}, more=["--published"])
        for tag in ("macosx_11_0_arm64", "macosx_10_12_x86_64", "win_amd64"):
            (wheel,) = (content for name, content in files.items() if name.endswith(f"-py3-none-{tag}.whl"))
            with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
                (script,) = (name for name in archive.namelist() if "/scripts/" in name)
                self.assertEqual(script.endswith(".exe"), tag == "win_amd64")
        (package,) = (content for name, content in files.items() if re.fullmatch(r"sapwood-\d[\d.]*\.tgz", name))
        with tarfile.open(fileobj=io.BytesIO(package)) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        self.assertEqual(set(manifest["optionalDependencies"]), {f"@sapwood/{name}" for name in (*others, HERE_PLATFORM)})
        # Images are for Linux.
        self.assertEqual(len([name for name in files if "-image" in name]), 2)
