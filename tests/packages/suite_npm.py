"""The packages of npm, in empty projects."""

import hashlib
import io
import json
import re
import shutil
import tarfile
import tempfile
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import suite_files
from given import HERE, HERE_PLATFORM, ROOT, Dev, demonstrates, environment, made, ran, scenario

PACKAGES = (made("sapwood-[0-9]*.tgz"), made(f"sapwood-{HERE_PLATFORM}-*.tgz"))
RUNNERS = ROOT / ".cache" / "package-tests"
QUIET = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
TYPES = """
import { eachTest, start, type Stack } from 'sapwood/testing';
import { test } from 'sapwood/vitest';
const stack: Stack = await start({ parameters: { OrderAttribute: 'rank' } });
const region: string = stack.clientOptions.region;
await stack.catchUp(5);
// @ts-expect-error A URL isn't a number.
const port: number = stack.api;
test('typed', async ({ sapwood }) => sapwood.catchUp());
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
        self.assertRegex(ran("npx", "--no-install", "sapwood", "--version", **self.options), r"(?m)^sapwood \d")
        demonstrates(self, "npx", "--no-install", "sapwood", **self.options)

    def test_a_stack_is_used_over_http(self):
        command = ("npx", "--no-install", "sapwood", "dev", "--json", "--dynamodb=127.0.0.1:0", "--http=127.0.0.1:0")
        with Dev(*command, **self.options) as dev:
            scenario(self, dev.api)

    def test_a_signal_to_the_launcher_ends_the_binary(self):
        launcher = self.options["cwd"] / "node_modules" / ".bin" / "sapwood"
        with Dev(launcher, "dev", "--json", "--dynamodb=127.0.0.1:0", "--http=127.0.0.1:0", **self.options) as dev:
            dev.process.terminate()
            self.assertEqual(dev.process.wait(20), 0)
            ran("curl", "--silent", "--fail", dev.api, code=7)

    def test_without_the_platforms_package_it_says_what_is_missing(self):
        (alone := self.directory / "alone").mkdir()
        (alone / "package.json").write_text('{"name": "alone", "private": true}')
        ran("npm", "install", *QUIET, PACKAGES[0], cwd=alone, env=environment())
        self.assertIn(f"@sapwood/{HERE_PLATFORM}", ran("npx", "--no-install", "sapwood", "--version", code=4, cwd=alone, env=environment()))


class Registry(unittest.TestCase):
    """What is published, in a registry on this machine."""

    def test_npm_takes_the_package_of_this_platform_and_no_other(self):
        with tempfile.TemporaryDirectory() as directory, Served(Path(directory)) as served:
            (project := Path(directory) / "project").mkdir()
            (project / "package.json").write_text('{"name": "project", "private": true}')
            npm = ("npm", "install", *QUIET, f"--registry={served.url}", f"--cache={directory}/cache", "sapwood")
            ran(*npm, cwd=project, env=environment())
            installed = {path.name for path in (project / "node_modules" / "@sapwood").iterdir()}
            self.assertEqual(installed, {HERE_PLATFORM})
            self.assertRegex(ran("npx", "--no-install", "sapwood", "--version", cwd=project, env=environment()), r"(?m)^sapwood \d")


class Served:
    """The packages for the registry, made of the binaries of those for files, and served as npm asks for them."""

    def __init__(self, directory):
        binaries = suite_files.binaries()
        # One platform more, which isn't this machine's.
        binaries |= {"darwin-arm64": b"\xcf\xfa\xed\xfe\x0c\0\0\x01"}
        made = suite_files.packed(directory / "published", binaries, more=["--published"])
        archives, documents = {name: content for name, content in made.items() if name.endswith(".tgz")}, {}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = unquote(self.path).lstrip("/")
                content = archives.get(path) or (path in documents and json.dumps(documents[path]).encode())
                self.send_response(200 if content else 404)
                self.end_headers()
                self.wfile.write(content or b"{}")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        for name, content in archives.items():
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
            manifest["dist"] = {"tarball": self.url + name, "shasum": hashlib.sha1(content).hexdigest()}
            version = manifest["version"]
            documents[manifest["name"]] = {"name": manifest["name"], "dist-tags": {"latest": version}, "versions": {version: manifest}}

    def __enter__(self):
        Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


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
