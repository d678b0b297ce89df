"""What the registries' own programs say of the packages, in the versions that docs/workflows/release.yml uploads with. Nothing is uploaded."""

import json
import re
import subprocess
import tarfile
import unittest

from given import DIST, ROOT, environment, made, ran

RELEASE = (ROOT / "docs" / "workflows" / "release.yml").read_text()
TWINE = ROOT / ".cache" / "uploads" / "bin" / "twine"


class Uploads(unittest.TestCase):
    def test_twine_takes_every_wheel(self):
        wheels = sorted(DIST.glob("*.whl"))
        self.assertNotEqual(wheels, [])
        said = ran(TWINE, "check", "--strict", *wheels, env=environment(NO_COLOR=1, COLUMNS=400))
        self.assertEqual(said.count("PASSED"), len(wheels), said)

    def test_npm_would_publish_every_package_as_it_is(self):
        (version,) = set(re.findall(r"npx --yes (npm@[\d.]+)", RELEASE))
        packages = [*sorted(DIST.glob("sapwood-*-*.tgz")), made("sapwood-[0-9]*.tgz")]
        for package in packages:
            with self.subTest(package.name), tarfile.open(package) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
                said = ran("npx", "--yes", version, "publish", "--dry-run", "--access", "public", package, env=environment())
                self.assertIn(f"+ {manifest['name']}@{manifest['version']}", said)
                # npm corrects what it doesn't like, and says so. Nobody is logged in here, which it says, too.
                self.assertEqual([line for line in said.splitlines() if "npm warn" in line and "logged in" not in line], [])

    def test_cargo_would_publish_the_crate(self):
        (command,) = re.findall(r"cargo publish .*", RELEASE)
        done = subprocess.run([*command.split(), "--dry-run", "--allow-dirty"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
