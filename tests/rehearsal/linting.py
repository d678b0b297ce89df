"""`sam validate --lint`, and cfn-lint on what SAM makes of the template: misspelt properties are caught."""

import json
import re
import subprocess
import unittest

from templates import EVERYTHING, NESTED, REGION, ROOT, Standing, cfn_lint, lint, translated, written

# W2001: SAM has used these parameters up. W1030: every parameter's default is tried wherever it could be used, whatever the
# conditions say.
USED_UP = ("W2001", "W1030")


class Linting(unittest.TestCase):
    maxDiff = None

    def test_sam_finds_nothing_in_the_template(self):
        done = subprocess.run(["sam", "validate", "--lint", "--region", REGION], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_sam_is_content_with_both_configurations(self):
        for name in ("default", "dev"):
            with self.subTest(name):
                command = ["sam", "validate", "--config-env", name, "--region", REGION]
                done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_cfn_lint_finds_nothing_in_the_translation(self):
        self.assertEqual(lint(translated(), USED_UP), [])

    def test_cfn_lint_finds_nothing_in_the_translation_with_everything_switched_on(self):
        # W1001: SAM has made the deployments unconditional, their role's condition is still there.
        self.assertEqual(lint(translated(EVERYTHING), (*USED_UP, "W1001")), [])

    def test_cfn_lint_finds_nothing_in_the_nested_stacks(self):
        self.assertGreaterEqual(len(NESTED), 3)
        self.assertEqual(cfn_lint(*NESTED), [])

    def test_misspelt_properties_are_found_in_the_translation(self):
        misspelt = {
            "ParalelizationFactor": ("TableChanges",),
            "OnFailures": ("TableChanges", "DestinationConfig"),
            "Filter": ("TableChanges", "FilterCriteria"),
            "DeletionProtection": ("Table",),
            "ThrottlingRate": ("ApiStage", "DefaultRouteSettings"),
            "LogLevel": ("StreamHandler", "LoggingConfig"),
        }
        template = written()
        for name, (resource, *steps) in misspelt.items():
            place = template["Resources"][resource]["Properties"]
            for step in steps:
                place = place[step]
            place[name] = "1"
        findings = lint(translated(template=template), USED_UP)
        missed = [name for name in misspelt if not any(f"'{name}'" in finding for finding in findings)]
        self.assertEqual(missed, [], "\n".join(findings))

    def test_the_access_log_names_the_caller_and_needs_no_policy_of_the_account(self):
        resources = written()["Resources"]
        log = json.loads(resources["ApiStage"]["Properties"]["AccessLogSettings"]["Format"])
        self.assertEqual((log["userArn"], log["subject"]), ("$context.identity.userArn", "$context.authorizer.claims.sub"))
        self.assertFalse(any("path" in value.lower() for value in log.values()), "ids are user data")
        self.assertTrue(resources["ApiAccessLogs"]["Properties"]["LogGroupName"]["Fn::Sub"].startswith("/aws/vendedlogs/"))

    def test_the_gateway_and_the_functions_allow_pages_the_same(self):
        source = (ROOT / "shared/http/src/serve/cors.rs").read_text()
        cors = Standing(translated(EVERYTHING), EVERYTHING).resources["Api"]["Properties"]["CorsConfiguration"]
        for name, ours in (("AllowMethods", "METHODS"), ("AllowHeaders", "ALLOWED"), ("ExposeHeaders", "EXPOSED")):
            text = re.search(rf'const {ours}: [^"]*"([^"]*)"', source)[1].replace("\\\n", "")
            with self.subTest(name):
                self.assertEqual([str(one) for one in cors[name]], re.split(r",\s*", text))
