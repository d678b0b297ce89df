"""The helpers for tests, from their sources, on the binary that SAPWOOD_BINARY names."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

from given import HERE, ROOT, SOURCES, ran

sys.path.append(str(SOURCES / "python"))
from sapwood import NotCaughtUp, NotStarted, Stack, find_binary  # noqa: E402

# As the entry point of the package has it.
PLUGIN = ("-p", "sapwood.pytest_plugin")
FAILING = """
def test_wrong(sapwood):
    sapwood.catch_up()
    assert sapwood.api == "elsewhere"
"""
# The order that the table keeps is one attribute's or the other's.
ORDERS = """
import pytest
from test_trees import children, put

def ordered(stack):
    put(stack, "D")
    put(stack, "a", parent="D", rank="1", name="z")
    put(stack, "b", parent="D", rank="2", name="y")
    stack.catch_up()
    return children(stack, "D")

def test_of_all(sapwood):
    assert ordered(sapwood) == ["a", "b"]

@pytest.mark.sapwood(OrderAttribute="name")
class TestOfOne:
    def test_class(self, sapwood):
        assert ordered(sapwood) == ["b", "a"]

    @pytest.mark.sapwood(OrderAttribute="rank")
    def test_itself(self, sapwood):
        assert ordered(sapwood) == ["a", "b"]
"""
# It says which process it has started, and waits to be killed.
HANGING = """
import os, time
def test_hanging(sapwood):
    print("started", sapwood._process.pid, flush=True)
    time.sleep(60)
"""


def pytest(directory, *arguments, code=0, also=""):
    modules = f"{SOURCES / 'python'}:{also}"
    command = (sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", *arguments)
    return ran(*command, code=code, cwd=directory, env=os.environ | {"PYTHONPATH": modules})


class Pytest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def written(self, text):
        (self.directory / "test_it.py").write_text(text)
        return self.directory

    def test_twenty_tests_have_a_stack_each(self):
        said = pytest(HERE / "python", "-q", "--strict-markers")
        passed, seconds = re.search(r"(\d+) passed in ([\d.]+)s", said).groups()
        self.assertEqual(int(passed), 20, said)
        print(f"pytest: 20 tests with a stack each in {seconds} s")

    def test_a_failure_shows_what_the_stack_has_printed(self):
        said = pytest(self.written(FAILING), code=1)
        self.assertIn("sapwood dev", said)
        self.assertIn("1 failed", said)

    def test_parameters_of_all_stacks_and_of_one(self):
        settings = f"[pytest]\npythonpath = {HERE / 'python'}\nsapwood_parameters =\n    OrderAttribute=rank\n"
        (self.directory / "pytest.ini").write_text(settings)
        pytest(self.written(ORDERS))
        (self.directory / "pytest.ini").write_text("[pytest]\nsapwood_parameters = nonsense\n")
        self.assertIn("NAME=VALUE", pytest(self.written(FAILING), code=1))

    def test_a_killed_pytest_leaves_no_process(self):
        command = [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "-s"]
        process = subprocess.Popen(command, cwd=self.written(HANGING), stdout=subprocess.PIPE, text=True,
                                   env=os.environ | {"PYTHONPATH": str(SOURCES / "python")})
        stack = next(int(line.split("started ")[1]) for line in process.stdout if "started " in line)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        began = time.monotonic()
        while Path(f"/proc/{stack}/cmdline").exists() and b"end-with-input" in Path(f"/proc/{stack}/cmdline").read_bytes():
            self.assertLess(time.monotonic() - began, 10, "the stack still runs")
            time.sleep(0.05)


class Documents(unittest.TestCase):
    """The examples of the documents."""

    def examples(self, name, language):
        """The blocks of a document in a language."""
        blocks = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
        self.assertTrue(blocks, name)
        return blocks

    def test_examples_in_python_are_tests_that_pass(self):
        for name in ("docs/guides/test.md", "infra/packages/README.md"):
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                (example,) = (block for block in self.examples(name, "python") if "def test_" in block)
                (Path(directory) / "test_it.py").write_text(example)
                said = pytest(directory, "-q", "--strict-markers", "-p", "no:warnings", also=ROOT / os.environ["BOTO3"])
                self.assertIn(f"{example.count('def test_')} passed", said)

    def test_the_example_of_boto3_passes_its_tests(self):
        said = pytest(ROOT / "examples" / "python", "-q", "--strict-markers", "-p", "no:warnings", "-p", "no:cacheprovider", also=ROOT / os.environ["BOTO3"])
        self.assertIn("5 passed", said)

    def test_the_readmes_ten_lines_print_the_subtree(self):
        (example,) = self.examples("README.md", "python")
        with Stack() as stack:
            wait = f"import urllib.request as u; u.urlopen('{stack.api}/dev/catch-up')"
            lines = [wait if line.startswith("# Wait") else line for line in example.replace("http://127.0.0.1:8000", stack.dynamodb).splitlines()]
            self.assertEqual(lines.count(wait), 1)
            printed = ran(sys.executable, "-c", "\n".join(lines), env=os.environ | {"PYTHONPATH": str(ROOT / os.environ["BOTO3"])})
        self.assertEqual(re.findall(r"'_id': '(\w+)'", printed), ["team", "plans"])

    def test_examples_that_nothing_here_can_run_can_be_read(self):
        for example in self.examples("docs/guides/test.md", "python"):
            compile(example, "docs/guides/test.md", "exec")
        for name in ("docs/guides/test.md", "infra/packages/README.md"):
            for example in self.examples(name, "js"):
                with tempfile.NamedTemporaryFile("w", suffix=".cjs" if "require(" in example else ".mjs") as file:
                    file.write(example)
                    file.flush()
                    ran("node", "--check", file.name)


class Stacks(unittest.TestCase):
    def test_each_stack_is_another(self):
        with Stack() as one, Stack() as other:
            self.assertNotEqual(one.api, other.api)
            for stack in (one, other):
                for url in (stack.api, stack.explorer):
                    with urllib.request.urlopen(url) as answer:
                        self.assertEqual(answer.status, 200)
        with self.assertRaises(OSError):
            urllib.request.urlopen(one.api)

    def test_what_can_not_start_says_why(self):
        with self.assertRaisesRegex(NotStarted, "PathRows"):
            Stack({"PathRows": "perhaps"})

    def test_what_can_not_settle_says_so(self):
        stack = Stack(arguments=["--no-handler"])
        self.addCleanup(stack.stop)
        with self.assertRaisesRegex(NotCaughtUp, "--no-handler"):
            stack.catch_up()
        stack.stop()
        with self.assertRaisesRegex(NotCaughtUp, "answer"):
            stack.catch_up(1)

    def test_a_binary_that_is_nowhere_is_named(self):
        named = os.environ.pop("SAPWOOD_BINARY")
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, {"SAPWOOD_BINARY": named, "PATH": path})
        os.environ["PATH"] = "/nowhere"
        with self.assertRaisesRegex(FileNotFoundError, "SAPWOOD_BINARY"):
            find_binary()


class JavaScript(unittest.TestCase):
    def test_node_runs_its_tests_with_a_stack_each(self):
        tests = HERE / "javascript" / "trees.test.cjs"
        said = ran("node", "--test", "--test-reporter=tap", tests, env=os.environ | {"SAPWOOD": str(SOURCES / "npm")})
        self.assertIn("# pass 20", said)
        self.assertIn("# fail 0", said)
        milliseconds = re.search(r"# duration_ms ([\d.]+)", said)[1]
        print(f"node: 20 tests with a stack each in {float(milliseconds) / 1000:.2f} s")

    def test_what_can_not_start_says_why_and_what_is_killed_leaves_nothing(self):
        script = """
            const { start } = require(process.env.SAPWOOD + '/lib/testing.js');
            (async () => {
              await start({ parameters: { PathRows: 'perhaps' } }).then(() => process.exit(3), (error) => console.log(error.message));
              const stack = await start({ args: ['--no-handler'] });
              await stack.catchUp().then(() => process.exit(4), (error) => console.log(error.message));
              console.log('api ' + stack.api);
              if (process.argv[1] === 'killed') process.kill(process.pid, 'SIGKILL');
              // Nobody stops it, and nothing keeps this process.
            })();
        """
        for ending, code in (("forgotten", 0), ("killed", -signal.SIGKILL)):
            said = ran("node", "-e", script, ending, code=code, env=os.environ | {"SAPWOOD": str(SOURCES / "npm")}, timeout=30)
            self.assertIn("PathRows", said)
            self.assertIn("--no-handler", said)
            api, began = re.search("api (.*)", said)[1], time.monotonic()
            while True:
                try:
                    urllib.request.urlopen(api).close()
                except OSError:
                    break
                self.assertLess(time.monotonic() - began, 10, "the stack still runs")
                time.sleep(0.05)

    def test_the_launcher_ends_as_the_binary_ends_and_takes_it_with_it(self):
        launcher = SOURCES / "npm" / "bin" / "sapwood.js"
        self.assertIn("sapwood", ran("node", launcher, "--version"))
        ran("node", launcher, "dev", "--nonsense", code=2)
        process = subprocess.Popen(["node", launcher, "dev", "--json", "--dynamodb", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        self.assertIn("listening", process.stdout.readline())
        process.terminate()
        self.assertEqual(process.wait(20), 0)
        process.stdout.close()
        without = {name: value for name, value in os.environ.items() if name != "SAPWOOD_BINARY"}
        self.assertIn("SAPWOOD_BINARY", ran("node", launcher, "--version", code=4, env=without))
