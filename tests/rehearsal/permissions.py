"""Least privilege: every action and resource of every role, and who may do what with the functions and the bucket."""

import json
import re
import tomllib
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

import cfnlint
from samcli.yamlhelper import yaml_parse

from templates import EVERYTHING, NESTED, REGION, ROOT, Standing, spelt, translated

LISTED = ROOT / "tests" / "rehearsal" / "permissions.txt"

POLICIES = ROOT / "docs" / "policies"
# The policies of who deploys: the two that everybody needs, and those of gradual deployments, keys and boundaries.
DEPLOYERS = ("deployer.json", "deployer-api-and-alarms.json")
WITH_EVERYTHING = (*DEPLOYERS, "gradual-deployment.json", "kms-key.json", "boundary.json")
# What cfn-lint knows of AWS: the actions that CloudFormation takes for each type of resource, and the resources that each action is about.
KNOWN = Path(cfnlint.__file__).parent / "data"
# What these types of the template's resources may take, and never do, because the template has none of it. By patterns of actions.
NEVER_TAKEN = {
    "AWS::ApiGatewayV2::Authorizer": "iam:PassRole",  # of an authorizer that is a function
    "AWS::ApiGatewayV2::Integration": "iam:PassRole",  # with credentials of its own
    "AWS::ApiGatewayV2::Api": "s3:getObject",  # a body in a bucket
    "AWS::AppConfig::ConfigurationProfile": "iam:PassRole",  # of a profile that is elsewhere
    "AWS::CloudFormation::Stack": "iam:PassRole cloudformation:SetStackPolicy cloudformation:UpdateTerminationProtection",
    "AWS::CodeDeploy::DeploymentGroup": "codedeploy:RegisterOnPremisesInstance",
    # Imports, Kinesis, replicas and their items, a policy of the table's own. A key of the caller's needs grants alone.
    "AWS::DynamoDB::Table": "dynamodb:*Import* dynamodb:*Kinesis* dynamodb:*Replica dynamodb:*Item dynamodb:Query dynamodb:Scan"
    " dynamodb:PutResourcePolicy dynamodb:DeleteResourcePolicy kinesis:* logs:* s3:* kms:Encrypt kms:ListAliases kms:RevokeGrant",
    "AWS::Events::Rule": "iam:PassRole",  # of targets that need one
    # Policies that are managed; and whoever has a boundary may not take it off.
    "AWS::IAM::Role": "iam:AttachRolePolicy iam:DetachRolePolicy iam:DeleteRolePermissionsBoundary",
    "AWS::Lambda::Alias": "lambda:*ProvisionedConcurrencyConfig",
    "AWS::Lambda::EventSourceMapping": "kms:*",  # of its filter
    # Networks, file systems, layers, signatures, and a key of the environment.
    "AWS::Lambda::Function": "ec2:* elasticfilesystem:* s3files:* kms:* lambda:*CodeSigning* lambda:GetLayerVersion lambda:PassCapacityProvider",
    "AWS::Lambda::Version": "lambda:*ProvisionedConcurrencyConfig",
    # Keys, masks, indexes, and deliveries to elsewhere.
    "AWS::Logs::LogGroup": "firehose:* s3:* logs:*KmsKey logs:PutDataProtectionPolicy logs:DeleteDataProtectionPolicy logs:PutIndexPolicy"
    " logs:DeleteIndexPolicy logs:DeleteResourcePolicy logs:PutBearerTokenAuthentication logs:PutLogGroupDeletionProtection",
    # Everything that a bucket can do but to be closed, encrypted, versioned (SAM's) and emptied after a time.
    "AWS::S3::Bucket": "iam:PassRole s3tables:* s3:*Metadata*TableConfiguration s3:*Abac s3:*Acl s3:*CORS s3:*Website s3:*Logging s3:*ObjectLock*"
    " s3:PutBucketNotification s3:PutAccelerateConfiguration s3:Put[AIMR]*Configuration",
    "AWS::SNS::Topic": "iam:* sns:PutDataProtectionPolicy",
    "AWS::SecretsManager::Secret": "secretsmanager:*Region*",
}
# The resources of a stack, as AWS names them, by what cfn-lint calls their kind; STACK is its name, and `stack` the same in small letters.
ARNS = {
    "alarm": "arn:aws:cloudwatch:REGION:ACCOUNT:alarm:STACK-AlarmStack-1A2B-IteratorAge-3C4D",
    "apis": "arn:aws:apigateway:REGION::/apis",
    "api": "arn:aws:apigateway:REGION::/apis/a1b2c3",
    "application": "arn:aws:codedeploy:REGION:ACCOUNT:application:STACK-ServerlessDeploymentApplication-1A2B",
    "bucket": "arn:aws:s3:::stack-failedrecords-1a2b",
    "changeset": "arn:aws:cloudformation:REGION:ACCOUNT:stack/STACK/0123",
    "dashboard": "arn:aws:cloudwatch::ACCOUNT:dashboard/Dashboard-1A2B",
    "deploymentconfig": "arn:aws:codedeploy:REGION:ACCOUNT:deploymentconfig:CodeDeployDefault.LambdaCanary10Percent10Minutes",
    "deploymentgroup": "arn:aws:codedeploy:REGION:ACCOUNT:deploymentgroup:STACK-ServerlessDeploymentApplication-1A2B/STACK-ApiReader-3C4D",
    "eventsourcemapping": "arn:aws:lambda:REGION:ACCOUNT:event-source-mapping:0123",
    "function": "arn:aws:lambda:REGION:ACCOUNT:function:STACK-StreamHandler-1A2B",
    "function alias": "arn:aws:lambda:REGION:ACCOUNT:function:STACK-StreamHandler-1A2B:live",
    "function version": "arn:aws:lambda:REGION:ACCOUNT:function:STACK-StreamHandler-1A2B:1",
    "key": "arn:aws:kms:REGION:ACCOUNT:key/KEY_ID",
    "log-group": "arn:aws:logs:REGION:ACCOUNT:log-group:STACK-StreamHandlerLogs-1A2B",
    "object": "arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-1a2b/sapwood/0123",
    "role": "arn:aws:iam::ACCOUNT:role/STACK-StreamHandlerRole-1A2B",
    "rule-on-default-event-bus": "arn:aws:events:REGION:ACCOUNT:rule/STACK-AuditSchedule-1A2B",
    "secret": "arn:aws:secretsmanager:REGION:ACCOUNT:secret:CursorKey-1A2B-3C4D",
    "stack": "arn:aws:cloudformation:REGION:ACCOUNT:stack/STACK-AlarmStack-1A2B/0123",
    "table": "arn:aws:dynamodb:REGION:ACCOUNT:table/STACK-Table-1A2B",
    "topic": "arn:aws:sns:REGION:ACCOUNT:STACK-AlarmTopic-1A2B",
}
# Where the name of the kind says less than the type.
OTHERWISE = {
    "AWS::AppConfig::Application": ["arn:aws:appconfig:REGION:ACCOUNT:application/a1b2"],
    "AWS::AppConfig::ConfigurationProfile": ["arn:aws:appconfig:REGION:ACCOUNT:application/a1b2/configurationprofile/c3d4"],
    "AWS::AppConfig::HostedConfigurationVersion": [
        "arn:aws:appconfig:REGION:ACCOUNT:application/a1b2/configurationprofile/c3d4",
        "arn:aws:appconfig:REGION:ACCOUNT:application/a1b2/configurationprofile/c3d4/hostedconfigurationversion/1",
    ],
    "AWS::Logs::LogGroup": [ARNS["log-group"], "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/vendedlogs/STACK-api"],
    "AWS::S3::Bucket": [ARNS["bucket"], "arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-1a2b"],
}
# The methods of API Gateway are about paths, whatever is asked for. It asks for those of tags as well.
APIS = [f"arn:aws:apigateway:REGION::/{path}" for path in (
    "apis", "apis/a1b2c3", "apis/a1b2c3/routes/d4e5", "apis/a1b2c3/stages", "apis/a1b2c3/stages/$default", "tags/arn%3Aaws%3Aapigateway")]
# What the schemas name, and IAM's own list doesn't: older spellings of actions that are there by their new ones, and an action without a page.
UNKNOWN = {
    # What is asked for by PutLifecycleConfiguration, PutBucketCORS and so on, by which the list has them; SAM's own bucket is versioned alone.
    "s3:DeleteBucketAnalyticsConfiguration", "s3:DeleteBucketCors", "s3:DeleteBucketEncryption", "s3:DeleteBucketLifecycle",
    "s3:DeleteBucketMetricsConfiguration", "s3:DeleteBucketReplication", "s3:DeleteBucketTagging", "s3:PutBucketReplication",
    # AWS documents none of that name. `lambda:*Alias*` allows it.
    "lambda:AssociateRuntimeAlias",
}
STACKS = ("sapwood", "sapwood-dev")


def as_list(value):
    return value if isinstance(value, list) else [value]


def policies(*names):
    return [json.loads((POLICIES / name).read_text()) for name in names]


def statements_of(documents, effect, action):
    """The statements on an action: actions have no case."""
    for document in documents:
        for statement in document["Statement"]:
            if statement["Effect"] == effect and any(fnmatchcase(action.lower(), one.lower()) for one in as_list(statement["Action"])):
                yield statement


def holds(condition, context):
    """Whether a statement's condition does. What isn't in the context is as a request without it."""
    for operator, tests in condition.items():
        for key, values in tests.items():
            given = context.get(key)
            equal = given is not None and any(fnmatchcase(given, value) for value in as_list(values))
            if equal == (operator == "StringNotEquals"):
                return False
    return True


def may(documents, action, resource, context=None):
    """Whether policies allow an action on a resource. Without a context, whether they do under some condition."""
    for effect in ("Deny", "Allow"):
        for statement in statements_of(documents, effect, action):
            covers = any(fnmatchcase(resource, pattern) for pattern in as_list(statement["Resource"]))
            if covers and (effect == "Allow" if context is None else holds(statement.get("Condition", {}), context)):
                return effect == "Allow"
    return False


def taken(kind):
    """The actions that CloudFormation takes to make, to look at, to change, to tag and to remove a resource of a type."""
    file = json.loads((KNOWN / "schemas" / "providers" / f"{REGION}.json").read_text())[kind]
    schema = json.loads((KNOWN / "schemas" / "resources" / f"{file}.json").read_text())
    actions = {action for name, handler in schema["handlers"].items() if name != "list" for action in handler["permissions"]}
    actions |= set(schema.get("tagging", {}).get("permissions", []))
    never = NEVER_TAKEN.get(kind, "").split()
    return sorted(action for action in actions if not any(fnmatchcase(action, pattern) for pattern in never))


def resources_of(kind, action, known):
    """The names of the resources that an action on a type is about; `None` for an action that IAM's list doesn't know, as the schemas have some."""
    service, call = action.split(":")
    # Its list has the methods alone, and AWS refuses whoever may not tag a stage.
    if service == "apigateway":
        return APIS
    if call.lower() not in known[service]["Actions"]:
        return None
    kinds = [it.lower() for it in known[service]["Actions"][call.lower()].get("Resources", [])]
    if not kinds:
        return ["*"]
    if action == "iam:CreateServiceLinkedRole":
        return ["arn:aws:iam::ACCOUNT:role/aws-service-role/contributorinsights.dynamodb.amazonaws.com/0123"]
    # A tag is about many kinds.
    own = kind.split("::")[-1].lower()
    if kind in OTHERWISE and (own in kinds or service in ("appconfig", "logs")):
        return OTHERWISE[kind]
    return [ARNS[it] for it in ([own] if own in kinds and own in ARNS else kinds) if it in ARNS]


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
        self.assertEqual(stages, list(STACKS))
        (deployer,) = policies("deployer.json")
        statements = deployer["Statement"]
        updating = [one for one in statements if "cloudformation:ExecuteChangeSet" in as_list(one["Action"])]
        patterns = [resource for one in updating for resource in as_list(one["Resource"])]
        for stack in stages:
            arn = f"arn:aws:cloudformation:REGION:ACCOUNT:stack/{stack}/0123"
            self.assertTrue(any(fnmatchcase(arn, pattern) for pattern in patterns), f"{stack}: {patterns}")

    def test_the_deployers_policies_allow_what_the_resources_take(self):
        """Of each type that the template can make, on the resource's own name: to make it, to change it, to tag it, to remove it."""
        made = [translated()["Resources"], translated(EVERYTHING)["Resources"]]
        made += [yaml_parse(file.read_text())["Resources"] for file in NESTED]
        types = {resource["Type"] for resources in made for resource in resources.values()}
        known = json.loads((KNOWN / "AdditionalSpecs" / "Policies.json").read_text())
        documents, asked, unknown = policies(*WITH_EVERYTHING), 0, set()
        for kind in sorted(types):
            missing = []
            for action in taken(kind):
                names = resources_of(kind, action, known)
                self.assertNotEqual(names, [], f"{kind}: on what does {action} act?")
                unknown |= {action} if names is None else set()
                for name in names or []:
                    for stack in STACKS:
                        asked += 1
                        named = name.replace("STACK", stack).replace("stack-", f"{stack}-")
                        if not may(documents, action, named):
                            missing.append(f"{action} on {named}")
            with self.subTest(kind):
                self.assertEqual(missing, [])
        self.assertGreater(asked, 400)
        self.assertEqual(unknown, UNKNOWN)

    def test_what_is_never_taken_is_something_that_could_be(self):
        """A pattern that matches nothing any more would hide what comes."""
        for kind, patterns in NEVER_TAKEN.items():
            file = json.loads((KNOWN / "schemas" / "providers" / f"{REGION}.json").read_text())[kind]
            schema = json.loads((KNOWN / "schemas" / "resources" / f"{file}.json").read_text())
            actions = [action for handler in schema["handlers"].values() for action in handler["permissions"]]
            idle = [pattern for pattern in patterns.split() if not any(fnmatchcase(action, pattern) for action in actions)]
            self.assertEqual(idle, [], kind)

    def test_whoever_has_to_set_a_boundary_can_neither_leave_it_out_nor_undo_it(self):
        documents = policies(*DEPLOYERS, "boundary.json")
        role, boundary = ARNS["role"].replace("STACK", "sapwood"), "arn:aws:iam::ACCOUNT:policy/BOUNDARY"
        changes = ("iam:CreateRole", "iam:PutRolePolicy", "iam:PutRolePermissionsBoundary")
        for given, allowed in ((boundary, True), ("arn:aws:iam::ACCOUNT:policy/another", False), (None, False)):
            context = {"iam:PermissionsBoundary": given} if given else {}
            self.assertEqual({action: may(documents, action, role, context) for action in changes}, dict.fromkeys(changes, allowed), given)
            self.assertFalse(may(documents, "iam:DeleteRolePermissionsBoundary", role, context))
            # Whatever else allows it.
            anything = {"Statement": [{"Effect": "Allow", "Action": "iam:*", "Resource": "*"}]}
            self.assertFalse(may([*documents, anything], "iam:DeleteRolePermissionsBoundary", role, context))
        # Whoever has none needs no say in boundaries.
        alone = policies(*DEPLOYERS)
        self.assertTrue(may(alone, "iam:CreateRole", role, {}))
        for action in ("iam:PutRolePermissionsBoundary", "iam:DeleteRolePermissionsBoundary"):
            self.assertFalse(may(alone, action, role, {}), action)

    def test_the_first_steps_need_no_more_than_the_policies_that_their_page_links(self):
        page = "".join((ROOT / "docs" / "operate" / name).read_text() for name in ("deploy.md", "uninstall.md"))
        linked = re.findall(r"\(\.\./policies/([\w-]+\.json)\)", page)
        self.assertIn("iam.md#deployers", page)
        documents = policies(*DEPLOYERS, *dict.fromkeys(linked))
        blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```$", page, flags=re.M | re.S))
        calls = set(re.findall(r"\baws ([a-z0-9]+) ([a-z-]+)", blocks)) - {("sts", "get-caller-identity")}
        self.assertGreater(len(calls), 8)
        special = {
            ("s3", "rm"): ["s3:ListBucket", "s3:DeleteObject"],
            ("s3", "rb"): ["s3:DeleteBucket"],
            ("logs", "tail"): ["logs:FilterLogEvents"],
            ("cloudformation", "wait"): ["cloudformation:DescribeStacks"],
            ("dynamodb", "wait"): ["dynamodb:DescribeTable"],
        }
        resources = {
            "dynamodb": "arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE",
            "s3": ARNS["bucket"].replace("stack", "sapwood"),
            "cloudformation": "arn:aws:cloudformation:REGION:ACCOUNT:stack/sapwood/0123",
            "logs": ARNS["log-group"].replace("STACK", "sapwood"),
            "lambda": "*",
        }
        for service, call in sorted(calls):
            words = "".join(word.capitalize() for word in call.split("-"))
            for action in special.get((service, call), [f"{service}:{words}"]):
                with self.subTest(action):
                    # The table's name is its policy's, or that of a stack.
                    names = {resources[service], resources[service].replace("TABLE", "sapwood-Table-1A2B"), "*"}
                    self.assertTrue(any(may(documents, action, name) for name in names))

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
