"""The package of a release (`infra/package`): its bytes, its contents, its bill of materials; that it can be deployed; and docs/workflows.

The packages are made of the functions that the suite `building` has built.
"""

import hashlib
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path

import yaml
from samcli.yamlhelper import yaml_dump, yaml_parse

from emulator import BUILT, Emulator
from linting import USED_UP
from oracle import Oracle
from table import Table
from templates import ARCHITECTURE, REGION, ROOT, cfn_lint, lint, translated

FUNCTIONS = {"StreamHandler": "stream-handler", "ApiReader": "api-reader", "ApiWriter": "api-writer", "Auditor": "auditor"}
# 2026-11-21T09:05:00Z, the time of the examples in docs/reference/table.md.
MOMENT = 1795251900
COMMIT = "8e3f1c0de2b7b5d3a4d5d0f1a2b3c4d5e6f70819"
# What only tests, the command-line tool and build scripts use, and what runs in the compiler alone.
NOT_LINKED = {"cc", "clap", "dynoxide-rs", "mimalloc", "proptest", "rcgen", "rusqlite", "sapwood-simulation", "serde_derive", "tempfile"}
# A panic names the file of a crate's source.
SOURCE = re.compile(rb"/registry/src/[^/\0]+/([\w.+-]+)/")
# A template that says the same as ours in other words, and what is to become of it.
OTHER_WORDS = """\
Globals:
  Function:
    Architectures:
      - !Ref Architecture
    # The next line.
    Timeout: 3
Resources:
  One:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: .
    Metadata:
      # A remark.
      BuildMethod: rust-cargolambda
      BuildProperties:
        Binary: one
  # The next one.
  Two: {Type: AWS::SQS::Queue}
"""
OTHER_WORDS_BUILT = """\
Globals:
  Function:
    Architectures: [x86_64]
    # The next line.
    Timeout: 3
Resources:
  One:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: one.zip
  # The next one.
  Two: {Type: AWS::SQS::Queue}
"""
WORKFLOW = ROOT / "docs" / "workflows" / "deploy.yml"
TRUST = ROOT / "docs" / "policies" / "github-oidc-trust.json"
OF_GITHUB = "token.actions.githubusercontent.com"
# How the libraries that know the formats are asked: the input is a list of bills, the output what is wrong with each.
SBOM_CHECK = """
import json, sys
from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from license_expression import get_spdx_licensing
schema, licensing = JsonStrictValidator(SchemaVersion.V1_6), get_spdx_licensing()
def wrong_with(bill):
    if wrong := schema.validate_str(json.dumps(bill)):
        return str(wrong)
    try:
        # The library refuses references to nothing.
        Bom.from_json(bill).validate()
    except Exception as wrong:
        return repr(wrong)
    for component in bill["components"]:
        for licence in component.get("licenses", []):
            if wrong := licensing.validate(licence["expression"]).errors:
                return f"{component['name']}: {wrong}"
    return ""
json.dump([wrong_with(bill)[:500] for bill in json.load(sys.stdin)], sys.stdout)
"""


def load(name):
    """A module of infra/package, which is a program and no package of Python's."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "infra" / "package" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checkout(directory):
    """A copy of this checkout, without what Git ignores."""
    ignored = shutil.ignore_patterns(".git", ".cache", ".aws-sam", "target", "__pycache__")
    return shutil.copytree(ROOT, directory, ignore=ignored, symlinks=True)


def packed(root, functions, output, umask=0o022, arch=ARCHITECTURE):
    """Runs the script of a checkout, and returns the package's directory."""
    options = ["--functions", functions, "--arch", arch, "--commit", COMMIT, "--output", output]
    command = [sys.executable, root / "infra" / "package", *options]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(MOMENT)}
    done = subprocess.run(command, cwd=output.parent, umask=umask, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    (directory,) = (path for path in output.iterdir() if path.is_dir())
    return directory


def contents(directory):
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def for_the_emulator(folder, url):
    """Tells the functions of an unpacked package where AWS is, and leaves out the alarms that compute, which ministack 1.5.33 doesn't know."""
    for path in (folder / "template.yaml", *(folder / "infra").glob("*.yaml")):
        template = yaml_parse(path.read_text())
        if functions := template.get("Globals"):
            functions["Function"]["Environment"]["Variables"]["AWS_ENDPOINT_URL"] = url
        resources = template["Resources"].items()
        template["Resources"] = {id: resource for id, resource in resources if "Metrics" not in resource.get("Properties", {})}
        path.write_text(yaml_dump(template))


def lines_of(text):
    return {line.strip() for line in text.splitlines()}


class Packaging(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        temporary = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="rehearsal-")))
        functions = temporary / "functions"
        for function, name in FUNCTIONS.items():
            (functions / name).mkdir(parents=True)
            shutil.copy(BUILT.parent / function / "bootstrap", functions / name)
        cls.temporary, cls.functions = temporary, functions
        cls.directory = packed(ROOT, functions, temporary / "here")
        cls.files = contents(cls.directory)
        cls.archive = cls.directory.with_name(f"{cls.directory.name}.zip").read_bytes()
        cls.sbom = json.loads(cls.files["sbom.cdx.json"])
        cls.components = {component["name"]: component for component in cls.sbom["components"]}

    def text(self, name):
        return self.files[name].decode()

    def test_another_checkout_and_another_umask_give_the_same_bytes(self):
        there = packed(checkout(self.temporary / "elsewhere"), self.functions, self.temporary / "there", 0o077)
        self.assertEqual(there.name, self.directory.name)
        self.assertEqual({name for name, content in contents(there).items() if content != self.files.get(name)}, set())
        self.assertEqual(there.with_name(f"{there.name}.zip").read_bytes(), self.archive)

    def test_functions_for_another_processor_are_refused(self):
        (other,) = {"arm64", "x86_64"} - {ARCHITECTURE}
        with self.assertRaisesRegex(RuntimeError, f"not built for {other}: api-reader, api-writer, auditor, stream-handler"):
            packed(ROOT, self.functions, self.temporary / "refused", arch=other)

    def test_the_archive_holds_the_directory(self):
        with zipfile.ZipFile(io.BytesIO(self.archive)) as archive:
            unpacked = {entry.filename: archive.read(entry) for entry in archive.infolist()}
            modes = {entry.external_attr >> 16 for entry in archive.infolist()}
        self.assertEqual(unpacked, {f"{self.directory.name}/{name}": content for name, content in self.files.items()})
        self.assertEqual(list(unpacked), sorted(unpacked))
        self.assertEqual(modes, {0o100644})

    def test_the_checksums_are_those_of_all_files(self):
        check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
        self.assertEqual(subprocess.run(check, cwd=self.directory).returncode, 0)
        listed = {line.split("  ")[1] for line in self.text("SHA256SUMS").splitlines()}
        self.assertEqual(listed, set(self.files) - {"SHA256SUMS"})
        changed = shutil.copytree(self.directory, self.temporary / "changed")
        with (changed / "template.yaml").open("a") as file:
            file.write("\n")
        self.assertNotEqual(subprocess.run(check, cwd=changed, capture_output=True).returncode, 0)

    def test_each_function_is_an_archive_that_lambda_can_run(self):
        for name in FUNCTIONS.values():
            with self.subTest(name), zipfile.ZipFile(self.directory / f"{name}.zip") as archive:
                (entry,) = archive.infolist()
                self.assertEqual((entry.filename, entry.external_attr >> 16), ("bootstrap", 0o100755))
                self.assertEqual(entry.date_time, (1980, 1, 1, 0, 0, 0))
                self.assertEqual(archive.read(entry), (self.functions / name / "bootstrap").read_bytes())

    def test_the_package_holds_what_a_deployment_needs_and_no_path_of_this_machine(self):
        smoke = {path.relative_to(ROOT).as_posix() for path in (ROOT / "infra" / "smoke").glob("*.py")}
        nested = {path.relative_to(ROOT).as_posix() for path in (ROOT / "infra").glob("*.yaml")}
        licences = {"LICENSE-MIT", "LICENSE-APACHE", "LICENSES-THIRD-PARTY.txt"}
        of_text = {"README.md", "template.yaml", "samconfig.toml", "sbom.cdx.json", "requirements.txt", "SHA256SUMS"} | licences | smoke | nested
        self.assertEqual(set(self.files), of_text | {f"{name}.zip" for name in FUNCTIONS.values()})
        here = {str(ROOT), str(self.temporary), str(Path.home())}
        self.assertEqual({name for name in of_text for path in here if f"{path}/" in self.text(name)}, set())
        self.assertIn(COMMIT, self.text("README.md"))

    def test_the_template_is_ours_but_for_how_functions_are_built(self):
        ours, theirs = yaml_parse((ROOT / "template.yaml").read_text()), yaml_parse(self.text("template.yaml"))
        for function, name in FUNCTIONS.items():
            resource = theirs["Resources"][function]
            self.assertEqual(resource["Properties"].pop("CodeUri"), f"{name}.zip")
            self.assertNotIn("Architectures", resource["Properties"])
            del ours["Resources"][function]["Properties"]["CodeUri"]
            for key in ("BuildMethod", "BuildProperties"):
                self.assertNotIn(key, resource.get("Metadata", {}))
                del ours["Resources"][function]["Metadata"][key]
            if not ours["Resources"][function]["Metadata"]:
                del ours["Resources"][function]["Metadata"]
        self.assertEqual(theirs["Globals"]["Function"].pop("Architectures"), [ARCHITECTURE])
        del ours["Globals"]["Function"]["Architectures"]
        self.assertEqual(theirs, ours)
        # The comments are there.
        new = lines_of(self.text("template.yaml")) - lines_of((ROOT / "template.yaml").read_text())
        self.assertLessEqual(new, {f"Architectures: [{ARCHITECTURE}]", *(f"CodeUri: {name}.zip" for name in FUNCTIONS.values())})

    def test_a_template_in_other_words_is_understood_or_refused(self):
        template = load("built").template
        replaced, binaries = template(OTHER_WORDS, "x86_64")
        self.assertEqual(binaries, {"One": "one"})
        self.assertEqual(replaced, OTHER_WORDS_BUILT)
        in_one_line = "    Metadata: {kept: 1, BuildMethod: rust-cargolambda, BuildProperties: {Binary: one}}\n"
        start, end = OTHER_WORDS.index("    Metadata:"), OTHER_WORDS.index("  # The next one.")
        with self.assertRaisesRegex(Exception, "can't be replaced"):
            template(OTHER_WORDS[:start] + in_one_line + OTHER_WORDS[end:], "x86_64")

    def test_the_configuration_is_ours_but_for_building(self):
        ours, theirs = tomllib.loads((ROOT / "samconfig.toml").read_text()), tomllib.loads(self.text("samconfig.toml"))
        stages = [stage for stage in ours.values() if isinstance(stage, dict)]
        self.assertTrue(all(stage.pop("build", None) for stage in stages))
        self.assertEqual(theirs, ours)
        self.assertNotIn("sam build", self.text("samconfig.toml"))
        with self.assertRaisesRegex(Exception, "paragraphs"):
            load("built").configuration('[a.build.parameters]\nb = 1\n[a.deploy.parameters]\nc = 2\n')

    def test_sam_and_cfn_lint_find_nothing_in_the_package(self):
        done = subprocess.run(["sam", "validate", "--lint", "--region", REGION], cwd=self.directory, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(cfn_lint(*sorted((self.directory / "infra").glob("*.yaml"))), [])
        self.assertEqual(lint(translated(template=yaml_parse(self.text("template.yaml"))), USED_UP), [])

    def test_the_bill_of_materials_is_what_cyclonedx_says_and_faults_are_found(self):
        (dependency, *others), (component, *rest) = self.sbom["dependencies"], self.sbom["components"]
        faults = {
            "'crate' is not one of": {"components": [component | {"type": "crate"}, *rest]},
            "Sapwood": {"components": [component | {"licenses": [{"expression": "MIT OR Sapwood"}]}, *rest]},
            "nothing": {"dependencies": [{**dependency, "dependsOn": ["nothing"]}, *others]},
        }
        bills = json.dumps([self.sbom, *(self.sbom | fault for fault in faults.values())])
        done = subprocess.run([os.environ["SCHEMAS_PYTHON"], "-c", SBOM_CHECK], input=bills, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        right, *wrong = json.loads(done.stdout)
        self.assertEqual(right, "")
        for words, said in zip(faults, wrong, strict=True):
            with self.subTest(words):
                self.assertIn(words, said)

    def test_the_bill_of_materials_lists_the_crates_that_are_linked_and_no_others(self):
        named = {f"{component['name']}-{component['version']}" for component in self.sbom["components"]}
        for name in FUNCTIONS.values():
            found = {crate.decode() for crate in SOURCE.findall((self.functions / name / "bootstrap").read_bytes())}
            self.assertGreater(len(found), 50)
            self.assertLessEqual(found, named, name)
        self.assertEqual(NOT_LINKED & set(self.components), set())
        locked = {crate["name"] for crate in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
        self.assertLessEqual(NOT_LINKED, locked)

    def test_the_bill_of_materials_lists_what_the_manifests_ask_for(self):
        locked = {(crate["name"], crate["version"]): crate for crate in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
        left, seen = [ROOT / "functions" / name for name in FUNCTIONS.values()], set()
        while left:
            directory = left.pop()
            for name, given in tomllib.loads((directory / "Cargo.toml").read_text())["dependencies"].items():
                given = workspace[name] if given == {"workspace": True} else given
                if not (isinstance(given, dict) and given.get("optional")) and name not in seen:
                    seen.add(name)
                    if isinstance(given, dict) and "path" in given:
                        left.append(ROOT / given["path"])
        self.assertGreater(len(seen), 20)
        self.assertEqual(seen - set(self.components), set())
        for component in self.sbom["components"]:
            if component["name"] != "std":
                crate = locked[component["name"], component["version"]]
                self.assertEqual(component.get("purl"), f"pkg:cargo/{crate['name']}@{crate['version']}" if "source" in crate else None)
                self.assertTrue(component["licenses"])
                if "checksum" in crate:
                    self.assertEqual(component["hashes"], [{"alg": "SHA-256", "content": crate["checksum"]}])

    def test_the_bill_of_materials_names_the_functions_the_commit_and_its_time(self):
        for name in FUNCTIONS.values():
            sha256 = hashlib.sha256((self.functions / name / "bootstrap").read_bytes()).hexdigest()
            self.assertEqual(self.components[name]["hashes"], [{"alg": "SHA-256", "content": sha256}])
        metadata = self.sbom["metadata"]
        self.assertEqual(metadata["timestamp"], "2026-11-21T09:05:00Z")
        self.assertIn({"name": "sapwood:commit", "value": COMMIT}, metadata["component"]["properties"])
        self.assertNotIn("serialNumber", self.sbom)
        self.assertEqual(f"sapwood-{metadata['component']['version']}-{ARCHITECTURE}", self.directory.name)

    def test_the_licences_of_all_crates_are_there(self):
        notices = self.text("LICENSES-THIRD-PARTY.txt")
        lines = lines_of(notices)
        for component in self.sbom["components"]:
            if "purl" in component:
                line = f"{component['name']} {component['version']}: {component['licenses'][0]['expression']}"
                self.assertTrue(lines & {line, f"{line} (the crate has no text of it)"}, line)
        for words in ("Permission is hereby granted", "Apache License", "Redistribution and use in source and binary forms"):
            self.assertIn(words, notices)

    def test_the_unpacked_package_is_deployed_and_fans_out(self):
        with zipfile.ZipFile(io.BytesIO(self.archive)) as archive:
            archive.extractall(self.temporary / "unpacked")
        folder = self.temporary / "unpacked" / self.directory.name
        emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        self.addCleanup(emulator.stop)
        for_the_emulator(folder, emulator.url)
        deploy = next(command for command in self.commands(deploys=True) if command[:2] == ["sam", "deploy"])
        command = [*deploy, "--stack-name", "packaged", "--no-progressbar"]
        done = subprocess.run(command, cwd=folder, env=emulator.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        table = Table(emulator.client("dynamodb"), emulator.outputs("packaged")["TableName"], Oracle())
        table.node("D", name="Drive D")
        table.node("d", parent="D", name="Folder d")
        table.settle(self)
        self.assertIn(("D", "NODE#0001#d"), table.items())
        cloudformation = emulator.client("cloudformation")
        cloudformation.delete_stack(StackName="packaged")
        cloudformation.get_waiter("stack_delete_complete").wait(StackName="packaged", WaiterConfig={"Delay": 1, "MaxAttempts": 300})
        self.assertEqual(emulator.client("lambda").list_functions()["Functions"], [])

    workflow = yaml.safe_load(WORKFLOW.read_text())

    def commands(self, deploys):
        """The commands of the jobs that deploy, or of the others, as lists of words."""
        for job in self.workflow["jobs"].values():
            if ("environment" in job) == deploys:
                for line in "\n".join(step.get("run", "") for step in job["steps"]).replace("&&", "\n").splitlines():
                    if words := shlex.split(line):
                        yield words

    def test_the_workflow_runs_what_is_there(self):
        of_the_checkout, of_the_package = list(self.commands(deploys=False)), list(self.commands(deploys=True))
        for words, files in [(words, ROOT) for words in of_the_checkout] + [(words, self.directory) for words in of_the_package]:
            for word in (word for word in words if re.match(r"\.ci/|infra/|[A-Z0-9]+$", word)):
                self.assertTrue((files / word).exists(), words)
        self.assertIn([".ci/package"], of_the_checkout)
        tests = shlex.split(re.search("^cargo test.*", (ROOT / "README.md").read_text(), re.MULTILINE)[0])
        self.assertIn([*tests, "--locked"], of_the_checkout)
        self.assertIn(["sha256sum", "--check", "--strict", "SHA256SUMS"], of_the_package)
        stack = tomllib.loads(self.text("samconfig.toml"))["default"]["global"]["parameters"]["stack_name"]
        self.assertIn(["python", "infra/smoke", "--stack", stack, "$SMOKE_OPTIONS"], of_the_package)
        (smoke,) = (step for job in self.workflow["jobs"].values() for step in job["steps"] if "infra/smoke" in step.get("run", ""))
        self.assertEqual(smoke["env"]["SMOKE_OPTIONS"], "${{ vars.SMOKE_OPTIONS || '--read-only' }}")
        page = (ROOT / "docs" / "operate" / "package-cdk-terraform.md").read_text()
        for options in re.findall(r"^\| [^|]* \| `(--[^`]*)` \|", page, flags=re.MULTILINE):
            given = options.replace("NAME", "acme")
            done = subprocess.run([sys.executable, self.directory / "infra" / "smoke", "--table", "none", *given.split()],
                                  env=os.environ | {"AWS_EC2_METADATA_DISABLED": "true"}, capture_output=True, text=True)
            self.assertNotIn("usage:", done.stderr, options)
        (deploy,) = (words for words in of_the_package if words[0] == "sam")
        self.assertEqual(deploy, ["sam", "deploy", "--no-confirm-changeset", "--no-fail-on-empty-changeset"])
        (installed,) = (words for words in of_the_package if words[0] == "pip")
        self.assertEqual(installed, ["pip", "install", "--no-deps", "--require-hashes", "-r", "sapwood-*/requirements.txt"])
        # The rehearsals' SAM is the one that deploys.
        sam = re.compile("^aws-sam-cli==.*", re.MULTILINE)
        self.assertEqual(sam.findall(self.text("requirements.txt")), sam.findall((ROOT / ".ci" / "requirements" / "sam.txt").read_text()))

    def test_only_the_job_of_the_environment_gets_credentials(self):
        jobs = self.workflow["jobs"]
        (name,) = (name for name, job in jobs.items() if "id-token" in job.get("permissions", {}))
        self.assertEqual(jobs[name]["environment"], "prod")
        self.assertEqual(set(jobs[name]["needs"]), set(jobs) - {name})
        self.assertEqual(self.workflow["permissions"], {"contents": "read"})
        (statement,) = json.loads(TRUST.read_text())["Statement"]
        self.assertEqual(statement["Principal"], {"Federated": f"arn:aws:iam::ACCOUNT:oidc-provider/{OF_GITHUB}"})
        subject = "repo:OWNER@OWNER_ID/REPOSITORY@REPOSITORY_ID:environment:prod"
        self.assertEqual(statement["Condition"], {"StringEquals": {f"{OF_GITHUB}:aud": "sts.amazonaws.com", f"{OF_GITHUB}:sub": subject}})


class Workflows(unittest.TestCase):
    """What holds of every workflow, and of the one that releases."""

    all = {path.name: path.read_text() for path in sorted(WORKFLOW.parent.glob("*.yml"))}
    release = yaml.safe_load(all["release.yml"])
    compose = ROOT / "infra" / "container" / "compose.yaml"

    def check(self, schema, files, before, after):
        """The schema finds nothing in the files, and one error or more in each once the text is replaced."""
        with tempfile.TemporaryDirectory() as directory:
            texts = files | {f"wrong-{name}": text.replace(before, after, 1) for name, text in files.items()}
            for name, text in texts.items():
                (Path(directory) / name).write_text(text)
            command = [os.environ["SCHEMAS_PYTHON"], "-m", "check_jsonschema", "--builtin-schema", schema, "--output-format", "json", *texts]
            said = json.loads(subprocess.run(command, cwd=directory, capture_output=True, text=True).stdout)
        self.assertEqual(said["parse_errors"], [])
        self.assertEqual({error["filename"] for error in said["errors"]}, {f"wrong-{name}" for name in files}, said)

    def test_workflows_are_such_that_github_can_read(self):
        self.assertEqual(set(self.all), {"deploy.yml", "release.yml"})
        self.check("vendor.github-workflows", self.all, "runs-on", "run-on")
        for name, text in self.all.items():
            with self.subTest(name):
                jobs = yaml.safe_load(text)["jobs"].values()
                for step in (step for job in jobs for step in job["steps"] if "uses" in step):
                    self.assertRegex(step["uses"], r"@[0-9a-f]{40}$")
        pins = re.findall(r"uses: (\S+)@([0-9a-f]{40}) # (v[\d.]+)", "".join(self.all.values()))
        # An action has one version in all of them.
        self.assertEqual(len({name for name, *_ in pins}), len(set(pins)))
        self.assertEqual(len({yaml.safe_load(text)["env"]["RUST"] for text in self.all.values()}), 1)

    def test_compose_can_read_its_file(self):
        self.check("vendor.compose-spec", {self.compose.name: self.compose.read_text()}, "healthcheck", "healtcheck")

    def test_what_publishes_waits_for_all_tests_and_for_a_reviewer_and_builds_nothing(self):
        jobs = self.release["jobs"]
        self.assertEqual(self.release["permissions"], {"contents": "read"})
        publishing = {name: job for name, job in jobs.items() if "environment" in job}
        # One after the other, and what can't be taken back last.
        after = {name: job["needs"] for name, job in publishing.items()}
        self.assertEqual(after, {"draft": ["test", "packages", "pages"], "image": "draft", "npm": "image", "pypi": "npm", "crates": "pypi",
                                 "release": "crates", "site": "release"})
        for name, job in jobs.items():
            with self.subTest(name):
                if name not in publishing:
                    self.assertNotIn("permissions", job)
                    continue
                # GitHub's pages have an environment of their own.
                of_pages = {"name": "github-pages", "url": "${{ steps.site.outputs.page_url }}"}
                self.assertEqual(job["environment"], of_pages if name == "site" else "release")
                of_checkout = any(step.get("uses", "").startswith("actions/checkout@") for step in job["steps"])
                # A crate is published from its sources, and nothing of them is run.
                self.assertEqual(of_checkout, name == "crates")
                commands = "\n".join(step.get("run", "") for step in job["steps"])
                self.assertNotRegex(commands, r"\.ci/|cargo (build|test|run)")
                self.assertEqual("--no-verify" in commands, name == "crates")
        self.assertNotIn("secrets.", self.all["release.yml"])

    def test_the_release_runs_what_is_there_and_names_what_is_made(self):
        text = self.all["release.yml"]
        for path in set(re.findall(r"(?:\.ci|tests|infra)/[\w/.-]+", text)):
            self.assertTrue((ROOT / path).exists(), path)
        # As `.ci/full packages` tries them.
        tried = r"tests/packages/main\.py .*"
        self.assertEqual(re.findall(tried, text), [line.removesuffix(" &&") for line in re.findall(tried, (ROOT / ".ci" / "full").read_text())])
        sys.path.append(str(ROOT / "infra" / "packages"))
        platforms = importlib.import_module("platforms").PLATFORMS
        built = {entry["platform"]: entry for entry in self.release["jobs"]["binaries"]["strategy"]["matrix"]["include"]}
        for name, entry in built.items():
            self.assertEqual((entry["target"], entry["file"]), (platforms[name].target, f"sapwood{platforms[name].suffix}"))
            self.assertIn(f"--binary {name}=target/binaries/{name}/{entry['file']}", text)
        script = (ROOT / ".ci" / "packages").read_text()
        self.assertEqual({name for name in platforms if f"{name}=" in script} | set(built), set(platforms))
        # What the action uploads with has looked at the wheels before.
        pinned = re.findall(r"gh-action-pypi-publish (v[\d.]+) has", (ROOT / ".ci" / "requirements" / "uploads.in").read_text())
        self.assertEqual(pinned, re.findall(r"gh-action-pypi-publish@\S+ # (\S+)", text))
        (crate,) = re.findall(r"cargo publish --package (\S+)", text)
        manifest = tomllib.loads((ROOT / "shared" / crate.removeprefix("sapwood-") / "Cargo.toml").read_text())
        self.assertEqual((manifest["package"]["name"], manifest["package"]["publish"]), (crate, True))
