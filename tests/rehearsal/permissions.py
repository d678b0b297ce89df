"""Least privilege: every action and resource of every role, and who may do what with the functions and the bucket."""

import json
import tomllib
import unittest
from fnmatch import fnmatchcase

from samcli.yamlhelper import yaml_parse

from templates import EVERYTHING, NESTED, ROOT, Standing, spelt, translated

LISTED = ROOT / "tests" / "rehearsal" / "permissions.txt"

# The policies of who deploys, the second of them for gradual deployments.
DEPLOYERS = ("deployer.json", "gradual-deployment.json")
API = "apigateway:POST apigateway:PATCH apigateway:DELETE apigateway:GET"
# What CloudFormation calls for each type of resource.
TAKEN = {
    "AWS::ApiGatewayV2::Api": API,
    "AWS::ApiGatewayV2::Authorizer": API,
    "AWS::ApiGatewayV2::Integration": API,
    "AWS::ApiGatewayV2::Route": API,
    "AWS::ApiGatewayV2::Stage": f"{API} logs:CreateLogDelivery logs:UpdateLogDelivery logs:DeleteLogDelivery",
    "AWS::AppConfig::Application": "appconfig:CreateApplication appconfig:GetApplication appconfig:DeleteApplication",
    "AWS::AppConfig::ConfigurationProfile": "appconfig:CreateConfigurationProfile appconfig:DeleteConfigurationProfile",
    "AWS::AppConfig::HostedConfigurationVersion": "appconfig:CreateHostedConfigurationVersion appconfig:DeleteHostedConfigurationVersion",
    "AWS::CloudFormation::Stack": "cloudformation:CreateStack cloudformation:UpdateStack cloudformation:DeleteStack",
    "AWS::CloudWatch::Alarm": "cloudwatch:PutMetricAlarm cloudwatch:DescribeAlarms cloudwatch:DeleteAlarms",
    "AWS::CloudWatch::Dashboard": "cloudwatch:PutDashboard cloudwatch:GetDashboard cloudwatch:DeleteDashboards",
    "AWS::CodeDeploy::Application": "codedeploy:CreateApplication codedeploy:DeleteApplication",
    "AWS::CodeDeploy::DeploymentGroup": "codedeploy:CreateDeploymentGroup codedeploy:UpdateDeploymentGroup codedeploy:CreateDeployment iam:PassRole",
    "AWS::DynamoDB::Table": "dynamodb:CreateTable dynamodb:UpdateTable dynamodb:UpdateTimeToLive dynamodb:UpdateContinuousBackups",
    "AWS::Events::Rule": "events:PutRule events:DescribeRule events:DeleteRule events:PutTargets events:RemoveTargets events:TagResource",
    "AWS::IAM::Role": "iam:CreateRole iam:PutRolePolicy iam:PutRolePermissionsBoundary iam:DeleteRolePolicy iam:DeleteRole",
    "AWS::Lambda::Alias": "lambda:CreateAlias lambda:UpdateAlias lambda:DeleteAlias",
    "AWS::Lambda::EventInvokeConfig": "lambda:PutFunctionEventInvokeConfig lambda:UpdateFunctionEventInvokeConfig"
    " lambda:GetFunctionEventInvokeConfig lambda:DeleteFunctionEventInvokeConfig",
    "AWS::Lambda::EventSourceMapping": "lambda:CreateEventSourceMapping lambda:UpdateEventSourceMapping lambda:DeleteEventSourceMapping",
    "AWS::Lambda::Function": "lambda:CreateFunction lambda:UpdateFunctionCode lambda:UpdateFunctionConfiguration lambda:DeleteFunction"
    " lambda:PutFunctionConcurrency lambda:DeleteFunctionConcurrency iam:PassRole s3:GetObject",
    "AWS::Lambda::Permission": "lambda:AddPermission lambda:RemovePermission",
    "AWS::Lambda::Version": "lambda:PublishVersion lambda:ListVersionsByFunction",
    "AWS::Logs::LogGroup": "logs:CreateLogGroup logs:PutRetentionPolicy logs:DeleteLogGroup",
    "AWS::S3::Bucket": "s3:CreateBucket s3:PutEncryptionConfiguration s3:PutLifecycleConfiguration s3:PutBucketPublicAccessBlock",
    "AWS::S3::BucketPolicy": "s3:PutBucketPolicy s3:DeleteBucketPolicy",
    "AWS::SNS::Topic": "sns:CreateTopic sns:Subscribe sns:DeleteTopic",
    "AWS::SecretsManager::Secret": "secretsmanager:CreateSecret secretsmanager:GetRandomPassword secretsmanager:GetSecretValue"
    " secretsmanager:DeleteSecret",
}


def as_list(value):
    return value if isinstance(value, list) else [value]


def lines_of(document, who):
    """A line for each action on each resource."""
    for statement in document["Statement"]:
        known = {"Sid", "Effect", "Action", "Resource", "Condition", "Principal"}
        assert set(statement) <= known, f"{who}: {set(statement) - known} is nothing that is understood here"
        for action in as_list(statement["Action"]):
            for resource in as_list(statement.get("Resource", "this")):
                line = f"{who} {statement['Effect'].lower()}s {action} on {spelt(resource)}"
                if "Principal" in statement:
                    principals = statement["Principal"]
                    line += f" to {principals if isinstance(principals, str) else ' '.join(principals.values())}"
                for operator, tests in statement.get("Condition", {}).items():
                    for key, values in tests.items():
                        line += f" if {operator} {key} {' '.join(map(spelt, as_list(values)))}"
                yield line


def granted(template, parameters):
    standing = Standing(template, parameters)
    lines = []
    for id, resource in standing.resources.items():
        kind, properties = resource["Type"], resource.get("Properties", {})
        if kind == "AWS::IAM::Role":
            lines += lines_of(properties["AssumeRolePolicyDocument"], id)
            lines += (f"{id} has {arn}" for arn in properties.get("ManagedPolicyArns", []))
            if "PermissionsBoundary" in properties:
                lines.append(f"{id} is bounded by {spelt(properties['PermissionsBoundary'])}")
            for policy in properties.get("Policies", []):
                lines += lines_of(policy["PolicyDocument"], id)
        elif kind == "AWS::S3::BucketPolicy":
            lines += lines_of(properties["PolicyDocument"], id)
        elif kind == "AWS::Lambda::Permission":
            source = spelt(properties["SourceArn"])
            to = f"{properties['Principal']} if from {source}"
            lines.append(f"{id} allows {properties['Action']} on {spelt(properties['FunctionName'])} to {to}")
        elif kind.startswith("AWS::IAM::") or kind.endswith(("Policy", "Permission")):
            lines.append(f"{id} is a {kind}, which nobody has looked at")
        elif kind == "AWS::Lambda::Function":
            lines.append(f"{id} acts as {spelt(properties['Role'])}")
    return sorted(lines)


def more(template):
    """What this template grants, and ours doesn't."""
    return set(granted(template, {})) - set(granted(translated(), {}))


def listed():
    """The sections of the list, by their title."""
    sections, lines = {}, []
    for line in LISTED.read_text().splitlines():
        if line.startswith("["):
            lines = sections[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


class Permissions(unittest.TestCase):
    maxDiff = None

    def test_by_default_the_roles_may_do_what_is_listed_and_nothing_else(self):
        self.assertEqual(granted(translated(), {}), listed()["by default"])

    def test_with_everything_switched_on_the_roles_may_do_what_is_listed_and_nothing_else(self):
        self.assertEqual(granted(translated(EVERYTHING), EVERYTHING), listed()["with everything switched on"])

    def test_the_nested_stacks_watch_and_grant_nothing(self):
        resources = [resource for file in NESTED for resource in yaml_parse(file.read_text())["Resources"].values()]
        self.assertEqual({resource["Type"].split("::")[1] for resource in resources}, {"CloudWatch"})

    def test_the_deployers_policy_covers_the_stacks_of_the_configuration(self):
        configuration = tomllib.loads((ROOT / "samconfig.toml").read_text())
        stages = [stage["global"]["parameters"]["stack_name"] for stage in configuration.values() if isinstance(stage, dict)]
        self.assertEqual(stages, ["sapwood", "sapwood-dev"])
        statements = json.loads((ROOT / "docs" / "policies" / "deployer.json").read_text())["Statement"]
        updating = [one for one in statements if "cloudformation:ExecuteChangeSet" in as_list(one["Action"])]
        patterns = [resource for one in updating for resource in as_list(one["Resource"])]
        for stack in stages:
            arn = f"arn:aws:cloudformation:REGION:ACCOUNT:stack/{stack}/0123"
            self.assertTrue(any(fnmatchcase(arn, pattern) for pattern in patterns), f"{stack}: {patterns}")

    def test_the_deployers_policies_allow_what_the_resources_take(self):
        """Of each type that the template can make: to make it, to change it, to remove it."""
        made = [translated()["Resources"], translated(EVERYTHING)["Resources"]]
        made += [yaml_parse(file.read_text())["Resources"] for file in NESTED]
        types = {resource["Type"] for resources in made for resource in resources.values()}
        self.assertEqual(types, set(TAKEN), "a new type needs its actions here, and in the policies")
        policies = [json.loads((ROOT / "docs" / "policies" / name).read_text()) for name in DEPLOYERS]
        allowed = [action for policy in policies for one in policy["Statement"] for action in as_list(one["Action"])]
        for kind, actions in TAKEN.items():
            missing = [action for action in actions.split() if not any(fnmatchcase(action, pattern) for pattern in allowed)]
            self.assertEqual(missing, [], kind)

    def test_one_action_more_is_noticed(self):
        for id, action in (("ApiReaderRole", "dynamodb:Scan"), ("StreamHandlerRole", "dynamodb:DeleteTable")):
            with self.subTest(id):
                template = translated()
                statement = template["Resources"][id]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]
                statement["Action"].append(action)
                self.assertEqual(more(template), {f"{id} allows {action} on Table.Arn"})

    def test_one_resource_more_is_noticed(self):
        template = translated()
        statement = template["Resources"]["ApiWriterRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]
        statement["Resource"] = [statement["Resource"], "*"]
        self.assertEqual(more(template), {f"ApiWriterRole allows {action} on *" for action in statement["Action"]})

    def test_only_the_auditor_reads_the_whole_table(self):
        for parameters in ({}, {"Audit": "report"}, EVERYTHING):
            scanning = {line.split()[0] for line in granted(translated(parameters), parameters) if "dynamodb:Scan" in line}
            self.assertEqual(scanning, {"AuditorRole"}, parameters)

    def test_an_auditor_that_reports_writes_its_own_item_only(self):
        lines = granted(translated({"Audit": "report"}), {"Audit": "report"})
        reads = ("BatchGetItem", "Query", "Scan")
        may = [line for line in lines if line.startswith("AuditorRole allows dynamodb:")]
        written = [line for line in may if not any(f":{action} " in line for action in reads)]
        self.assertEqual(len(may), len(reads) + 1)
        self.assertEqual(written, ["AuditorRole allows dynamodb:PutItem on Table.Arn if ForAllValues:StringEquals dynamodb:LeadingKeys SAPWOOD"])

    def test_without_an_audit_there_is_nothing_of_it(self):
        """Nor where the fan-out is off: another region may have it. Its log alone stays, for whoever looks into a difference."""
        for parameters in ({"Audit": "off"}, {"FanOut": "off"}, EVERYTHING | {"FanOut": "off"}):
            standing = Standing(translated(parameters), parameters)
            self.assertEqual([id for id in standing.resources if id.startswith("Audit")], ["AuditorLogs"], parameters)
            given = [stack["Properties"]["Parameters"].get("Auditor", "") for stack in standing.of_type("AWS::CloudFormation::Stack").values()]
            self.assertEqual(given, [""] * len(NESTED), parameters)

    def test_a_policy_of_sams_own_making_is_noticed(self):
        template = translated()
        template["Resources"]["Other"] = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {}}
        self.assertEqual(more(template), {"Other is a AWS::IAM::ManagedPolicy, which nobody has looked at"})
