"""`infra/policies`, which fills the policies and attaches them, as docs/operate/company-account.md has it."""

import json
import os
import re
import subprocess
import sys
import unittest

from emulator import Emulator
from templates import REGION, ROOT

SCRIPT = ROOT / "infra" / "policies"
POLICIES = sorted(path.stem for path in (ROOT / "docs" / "policies").glob("*.json"))
PAGE = (ROOT / "docs" / "operate" / "company-account.md").read_text()
OUTPUTS = {"ApiId": "a1b2c3d4e5", "TableName": "sapwood-Table-1A2B", "FailedRecordsBucket": "sapwood-failedrecords-3c4d"}
GIVEN = "--boundary boundary --key-id 1234 --domain api.example.org --owner o --owner-id 1 --repository r --repository-id 2".split()
ACCOUNT = "000000000000"


class Attaching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        cls.addClassCleanup(cls.emulator.stop)
        resources = {"Topic": {"Type": "AWS::SNS::Topic"}}
        template = {"Resources": resources, "Outputs": {name: {"Value": value} for name, value in OUTPUTS.items()}}
        for stack in ("sapwood", "Trees"):
            cls.emulator.client("cloudformation").create_stack(StackName=stack, TemplateBody=json.dumps(template))
            cls.emulator.client("cloudformation").get_waiter("stack_create_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        for role in ("deployers", "operators"):
            cls.emulator.client("iam").create_role(RoleName=role, AssumeRolePolicyDocument=trust)

    def run_it(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], env=self.emulator.environment, capture_output=True, text=True)

    def attached(self, role):
        return {policy["PolicyName"] for policy in self.emulator.client("iam").list_attached_role_policies(RoleName=role)["AttachedPolicies"]}

    def document(self, name):
        iam, arn = self.emulator.client("iam"), f"arn:aws:iam::{ACCOUNT}:policy/{name}"
        version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        return iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]

    def test_every_policy_can_be_filled(self):
        for name in POLICIES:
            done = self.run_it("--print", *GIVEN, name)
            self.assertEqual(done.returncode, 0, done.stderr)
            policy = json.loads(done.stdout)
            resources = json.dumps([[it.get("Resource"), it.get("Condition"), it.get("Principal")] for it in policy["Statement"]])
            self.assertEqual(set(re.findall(r"\b[A-Z][A-Z_]+\b", resources)) - {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "SAPWOOD"}, set(), name)
        self.assertIn(f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{OUTPUTS['TableName']}", self.run_it("--print", "records").stdout)

    def test_a_value_that_is_missing_is_named(self):
        for arguments, said in ((("kms-key",), "set --key-id"), (("boundary",), "set --boundary"), (("github-oidc-trust",), "set --owner")):
            done = self.run_it("--print", *arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.run_it("--print", "--stack", "none", "records").returncode, 1)

    def test_a_stack_of_another_name_has_policies_of_its_own(self):
        said = self.run_it("--print", "--stack", "Trees", "deployer", "deployer-api-and-alarms", "doctor", *GIVEN).stdout
        for wanted in ("stack/Trees/*", "stack/Trees-*", "table/Trees-*", "s3:::trees-*", "role/Trees-*", "function:Trees-*", "/aws/vendedlogs/Trees-*", "alarm:Trees-*"):
            self.assertIn(wanted, said)
        # The table has the name that it has.
        self.assertNotRegex(said.replace(OUTPUTS["TableName"], "TABLE"), r"[:/]sapwood\b")

    def test_the_commands_of_the_page_attach_policies_and_update_them(self):
        commands = re.findall(r"^python infra/policies (.*)$", PAGE, re.MULTILINE)
        self.assertEqual(len(commands), 3)
        for again in (False, True):
            for command in commands:
                done = self.run_it(*command.split())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(": unchanged, and attached" in done.stdout, again, done.stdout)
        self.assertEqual(self.attached("deployers"), {"sapwood-deployer", "sapwood-deployer-api-and-alarms", "sapwood-boundary"})
        self.assertIn("sapwood-records", self.attached("operators"))
        self.assertIn(OUTPUTS["TableName"], json.dumps(self.document("sapwood-records")))
        for number in range(7):
            done = self.run_it("--role", "deployers", "--boundary", f"other-{number}", "boundary")
            self.assertIn(": updated, and attached", done.stdout, done.stderr)
            self.assertIn(f"policy/other-{number}", json.dumps(self.document("sapwood-boundary")))
