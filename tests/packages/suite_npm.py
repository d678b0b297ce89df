"""The packages of npm, in empty projects."""

import re
import shutil
import tempfile
import time
import unittest
from pathlib import Path

from given import HERE, HERE_PLATFORM, ROOT, Dev, demonstrates, environment, made, ran, scenario

# Whoever has the files needs nobody else's: npm would ask the registry for the other platforms.
PACKAGES = ("--omit=optional", made("sapwood-[0-9]*.tgz"), made(f"sapwood-{HERE_PLATFORM}-*.tgz"))
RUNNERS = ROOT / ".cache" / "package-tests"
QUIET = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
TYPES = """
import { eachTest, start, type Stack } from 'sapwood/testing';
import { test } from 'sapwood/vitest';
const stack: Stack = await start({ parameters: { OrderAttribute: 'rank' } });
const region: string = stack.clientOptions.region;
await stack.settled(5);
// @ts-expect-error A URL isn't a number.
const port: number = stack.api;
test('typed', async ({ sapwood }) => sapwood.settled());
eachTest({ beforeEach: () => undefined, afterEach: () => undefined });
console.log(region, port);
"""


class Npm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)
        (empty := cls.directory / "empty").mkdir()
        (empty / "package.json").write_text('{"name": "empty", "private": true}')
        began = time.monotonic()
        ran("npm", "install", *QUIET, *PACKAGES, cwd=empty, env=environment())
        print(f"npm: installed in {time.monotonic() - began:.1f} s")
        cls.options = {"cwd": empty, "env": environment()}

    def test_the_command_line_is_there(self):
        self.assertRegex(ran("npx", "--no-install", "sapwood", "--version", **self.options), r"^sapwood \d")
        demonstrates(self, "npx", "--no-install", "sapwood", **self.options)

    def test_a_stack_is_used_over_http(self):
        command = ("npx", "--no-install", "sapwood", "dev", "--json", "--dynamodb=127.0.0.1:0", "--http=127.0.0.1:0")
        with Dev(*command, **self.options) as dev:
            scenario(self, dev.api)

    def test_what_is_stopped_through_npx_is_gone(self):
        dev = Dev("npx", "--no-install", "sapwood", "dev", "--json", "--dynamodb=127.0.0.1:0", "--http=127.0.0.1:0", **self.options)
        dev.process.terminate()
        dev.process.communicate(timeout=20)
        time.sleep(0.5)
        ran("curl", "--silent", "--fail", dev.api, code=7)

    def test_without_the_platforms_package_it_says_what_is_missing(self):
        (alone := self.directory / "alone").mkdir()
        (alone / "package.json").write_text('{"name": "alone", "private": true}')
        ran("npm", "install", *QUIET, *PACKAGES[:2], cwd=alone, env=environment())
        self.assertIn(f"@sapwood/{HERE_PLATFORM}", ran("npx", "--no-install", "sapwood", "--version", code=4, cwd=alone, env=environment()))


class Runners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        project = Path(directory.name) / "project"
        shutil.copytree(RUNNERS, project, symlinks=True)
        ran("npm", "install", *QUIET, *PACKAGES, cwd=project, env=environment())
        shutil.copytree(HERE / "javascript", project, dirs_exist_ok=True, ignore=shutil.ignore_patterns("package*.json", "node_modules"))
        (project / "types.mts").write_text(TYPES)
        cls.project = project
        cls.options = {"cwd": project, "env": environment(SAPWOOD=project / "node_modules" / "sapwood")}

    def runs(self, name, *command):
        began = time.monotonic()
        said = ran("npx", "--no-install", *command, **self.options)
        print(f"{name}: {time.monotonic() - began:.1f} s with its own start")
        return re.sub(r"\x1b\[[\d;]*m", "", said)

    def test_vitest_runs_twenty_tests_with_the_fixture(self):
        said = self.runs("vitest", "vitest", "run", "vitest.test.mjs")
        self.assertRegex(said, r"Tests +20 passed")
        seconds = re.search(r"tests ([\d.]+m?s)", said)[1]
        print(f"vitest: 20 tests with a stack each in {seconds}")

    def test_jest_runs_twenty_tests_with_hooks(self):
        said = self.runs("jest", "jest", "jest.test.cjs", "--testMatch", "**/jest.test.cjs")
        self.assertRegex(said, r"Tests: +20 passed")
        print(f"jest: 20 tests with a stack each in {re.search(r'Time: +(.*)', said)[1]}")

    def test_the_helpers_are_typed(self):
        self.runs("tsc", "tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2023", "types.mts")
