"""The construct of infra/cdk: that it synthesizes what the template says, whatever the parameters are, and that what the CDK's own command
deploys on ministack works.

`.ci/cdk` makes the package and installs it beside trees.js. The modules are those of the rehearsal.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import cfnlint
from deployment import plant
from emulator import Emulator
from oracle import Oracle
from packaging import for_the_emulator
from suites import Result
from table import Table
from templates import EVERYTHING, REGION, ROOT, Standing, cfn_lint, for_here, translated, written
from samcli.yamlhelper import yaml_dump, yaml_parse

HERE = Path(os.environ["SAPWOOD_APP"])
INSTALLED = HERE / "node_modules" / "@sapwood" / "cdk"
# What SAM and the construct append to the names of versions.
HASH = re.compile(r"(Version)[0-9a-f]{10}$")
STREAM = EVERYTHING["ExistingTableStreamArn"]
# The template's parameters of each case. The construct gets them as its properties.
CASES = {
    "defaults": {},
    "everything": EVERYTHING,
    "everything with its table": {name: value for name, value in EVERYTHING.items() if name != "ExistingTableStreamArn"},
    "everything but gradual": EVERYTHING | {"GradualDeployment": "false", "Audit": "repair"},
    "dev": {"Stage": "dev", "Audit": "off", "OrderAttribute": "rank,name:caseless", "OrderByHand": "on", "Totals": "count,size"},
    "names": {"PartitionKey": "pk", "SortKey": "sk", "NodeSortKey": "METADATA", "FanOut": "off", "PathRows": "off", "Trash": "on"},
    "topic": {"AlarmTopicArn": f"arn:aws:sns:{REGION}:123456789012:alarms", "GradualDeployment": "true", "UniqueNames": "caseless"},
}
ALL, STREAM_HANDLER = {"StreamHandler", "ApiReader", "ApiWriter"}, {"StreamHandler"}
# What an app changes, by properties and by overrides, and whose versions it must replace: a function's, if anything changes that a version holds.
CHANGED = {
    "a property of all": ({"neverCopied": "secret"}, {}, ALL),
    "a property of none": ({"alarmEmail": "us@example.org"}, {}, set()),
    "concurrency": ({"streamHandlerConcurrency": 5}, {}, set()),
    "an override": ({}, {"StreamHandler": {"Timeout": 50}}, STREAM_HANDLER),
    "a variable": ({}, {"StreamHandler": {"Environment.Variables.AWS_ENDPOINT_URL": "http://localhost:8000"}}, STREAM_HANDLER),
    "what no version holds": ({}, {"StreamHandler": {"ReservedConcurrentExecutions": 9, "RecursiveLoop": "Terminate", "Tags": []}}, set()),
}
# What the construct must refuse, and what it says.
REFUSED = {
    "no value": ({"props": {"stage": "test"}}, "stage: test isn't one of dev, prod"),
    "no pattern": ({"props": {"alarmEmail": "nobody"}}, "alarmEmail: nobody doesn't match"),
    "no property": ({"props": {"colour": "red"}}, "colour: there is no such property"),
    "no issuer": ({"props": {"apiAuthorization": "JWT"}}, "JwtIssuer is needed with ApiAuthorization=JWT"),
    "no alarms": ({"props": {"stage": "dev", "gradualDeployment": True}}, "GradualDeployment=true needs the alarms of Stage=prod"),
    "no sort key": ({"table": "unsorted"}, "the table has no sort key. Sapwood needs a partition key and a sort key"),
    "no text": ({"table": "numbered"}, "the table's sort key sk has the type N. Sapwood needs a string"),
    "another key": ({"table": "lower", "props": {"sortKey": "SK"}}, "sortKey: the table has sk, not SK. Leave `sortKey` out"),
    "another TTL": ({"table": "lower", "props": {"ttlAttribute": "_expires"}}, "ttlAttribute: the table has ttl, not _expires"),
    "no stream": ({"table": "deaf"}, "the table has no stream"),
    "half a stream": ({"table": "half"}, "the table's stream has NEW_IMAGE"),
    "no origin": ({"props": {"corsOrigins": ["https://a.example", "b c"]}}, "corsOrigins: https://a.example,b c doesn't match"),
}


def properties(parameters):
    """The construct's properties for the template's parameters."""
    words = {"on": True, "off": False, "true": True, "false": False}
    given = {name: words.get(value, value) for name, value in parameters.items() if name != "ExistingTableStreamArn"}
    # `off` of these is a word among others.
    given |= {name: parameters[name] for name in ("Audit", "UniqueNames") if name in parameters}
    given |= {name: value.split(",") for name, value in given.items() if name in ("OrderAttribute", "Totals", "CorsOrigins")}
    return {name[0].lower() + name[1:]: value for name, value in given.items()}


def plain(value, names, parameters):
    """A value of a template in a form that doesn't depend on how it is written: references by the template's names, texts with references as
    their parts."""
    again = functools.partial(plain, names=names, parameters=parameters)
    if isinstance(value, list):
        return [again(item) for item in value]
    if isinstance(value, bool):
        # CloudFormation takes the one for the other.
        return str(value).lower()
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((function, argument),) = value.items()
        if function == "Ref":
            return parameters[argument] if argument in parameters else {"Ref": names.get(argument, argument)}
        if function == "Fn::GetAtt":
            return {"Fn::GetAtt": [names.get(argument[0], argument[0]), argument[1]]}
        if function == "Fn::Sub":
            text, variables = (argument, {}) if isinstance(argument, str) else argument
            parts = re.split(r"\$\{([^}]+)\}", text)
            found = ({"Fn::GetAtt": name.split(".", 1)} if "." in name else {"Ref": name} for name in parts[1::2])
            of = [variables.get(name, reference) for name, reference in zip(parts[1::2], found)]
            return joined([again(part) for pair in zip(parts[::2], [*of, ""]) for part in pair])
        if function == "Fn::Join" and argument[0] == "":
            return joined(again(argument[1]))
        if function == "Fn::Split" and isinstance(text := again(argument[1]), str):
            return text.split(argument[0])
        if function == "Fn::Select" and isinstance(found := again(argument[1]), list):
            return found[int(argument[0])]
    return {name: again(item) for name, item in value.items()}


def joined(parts):
    whole = []
    for part in parts:
        inner = part["parts"] if isinstance(part, dict) and "parts" in part else [part]
        for one in filter(None, inner):
            if whole and isinstance(one, str) and isinstance(whole[-1], str):
                whole[-1] += one
            else:
                whole.append(one)
    if len(whole) > 1:
        return {"parts": whole}
    return whole[0] if whole else ""


def without_files(name, resource):
    """A resource without the places of its files, and these."""
    given = dict(resource["Properties"])
    if resource["Type"] == "AWS::Lambda::Function":
        return resource | {"Properties": given}, given.pop("Code")["S3Key"]
    if resource["Type"] == "AWS::CloudFormation::Stack":
        return resource | {"Properties": given}, given.pop("TemplateURL")
    return resource, None


def schema(kind):
    """CloudFormation's schema of a type of resource, as cfn-lint has it."""
    schemas = Path(cfnlint.__file__).parent / "data" / "schemas"
    file = json.loads((schemas / "providers" / f"{REGION}.json").read_text())[kind]
    return json.loads((schemas / "resources" / f"{file}.json").read_text())


class Synthesized:
    """What the construct makes of a case. The construct's name is its path in the stack."""

    def __init__(self, directory, construct="Trees"):
        self.directory = directory
        self.template = json.loads((directory / "App.template.json").read_text())
        self.names = {}
        for id, resource in self.template["Resources"].items():
            path = resource.get("Metadata", {}).get("aws:cdk:path", "").split("/")
            if path[:-1] == ["App", *construct.split("/")]:
                self.names[id] = path[-1]
        self.resources, self.files = {}, {}
        for id, name in self.names.items():
            resource = plain(self.template["Resources"][id], self.names, {})
            resource.pop("Metadata")
            depends = resource.pop("DependsOn", [])
            resource["DependsOn"] = sorted(self.names[one] for one in depends)
            self.resources[name], self.files[name] = without_files(name, resource)
        self.outputs = {name: plain(output["Value"], self.names, {}) for name, output in self.template.get("Outputs", {}).items()}

    def file(self, name):
        """The bytes of a resource's file, as they are uploaded."""
        (hashed,) = re.findall(r"[0-9a-f]{64}\.\w+", json.dumps(self.files[name]))
        return (self.directory / f"asset.{hashed}").read_bytes()


class Construct(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="cdk-")))
        cases = {name: {"props": properties(parameters), "table": parameters.get("ExistingTableStreamArn")} for name, parameters in CASES.items()}
        cases |= {name: case for name, (case, _) in REFUSED.items()}
        cases |= {"table of the app": {"table": "own"}, "table with a key": {"table": "locked"}, "destroyed": {"destroyed": True}, "origin": {"origin": True}}
        cases |= {"two": {"constructs": ["Trees", "Others"]}, "under two": {"constructs": ["Trees", "Trees"], "under": ["North", "South"]}}
        cases |= {"table in lower case": {"table": "lower"}, "Table in lower case": {"table": "lower, Table"}}
        cases |= {"imported in lower case": {"table": STREAM, "props": {"partitionKey": "pk", "sortKey": "sk", "ttlAttribute": "ttl"}}}
        tagged = {name: value for name, value in EVERYTHING.items() if name != "ExistingTableStreamArn"}
        cases |= {"tagged": {"props": properties(tagged), "tags": {"team": "forest", "lambda:createdBy": "us"}}}
        cases |= {name: {"props": {"stage": "prod"} | props, "overrides": overrides} for name, (props, overrides, _) in CHANGED.items()}
        gradual = {"gradualDeployment": True}
        cases |= {f"gradual {name}": {"props": gradual | props, "overrides": overrides} for name, (props, overrides, _) in CHANGED.items()}
        cases |= {"gradual": {"props": gradual}}
        cls.refused = cls.synthesize(cases, cls.temporary / "out")

    @classmethod
    def synthesize(cls, cases, directory):
        (cls.temporary / "cases.json").write_text(json.dumps(cases))
        command = ["node", HERE / "trees.js", cls.temporary / "cases.json", directory]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        return json.loads(done.stdout)

    def synthesized(self, name, construct="Trees"):
        return Synthesized(self.temporary / "out" / name, construct)

    def test_it_makes_what_the_template_says(self):
        template = for_here(written())
        for name, parameters in CASES.items():
            with self.subTest(name):
                made, wanted = self.synthesized(name), self.wanted(template, parameters)
                self.assertEqual(set(made.resources), set(wanted.resources))
                for resource in wanted.resources:
                    self.assertEqual(made.resources[resource], wanted.resources[resource], resource)
                self.assertEqual(made.outputs, wanted.outputs)
                self.assertGreater(len(made.resources), 35)

    def wanted(self, template, parameters):
        """The same of the template, as SAM translates it and an independent reading of it decides."""
        sam = translated(parameters, template)
        standing = Standing(sam, parameters)
        names = {id: HASH.sub(r"\1", id) for id in sam["Resources"]}
        resources = {}
        for id, resource in standing.resources.items():
            resource = plain({key: it for key, it in resource.items() if key not in ("Metadata", "Condition")}, names, standing.parameters)
            depends = resource.get("DependsOn", [])
            resource["DependsOn"] = sorted([depends] if isinstance(depends, str) else depends)
            if resource["Type"] == "AWS::Lambda::Version":
                resource["UpdateReplacePolicy"] = resource["DeletionPolicy"]
            resources[names[id]] = without_files(id, resource)[0]
        there = {id: output for id, output in sam["Outputs"].items() if standing.holds(output.get("Condition"))}
        standing.outputs = {id: plain(standing.resolved(output["Value"]), names, standing.parameters) for id, output in there.items()}
        standing.resources = resources
        return standing

    def test_its_files_are_the_packages(self):
        made = self.synthesized("defaults")
        for function, archive in (("StreamHandler", "stream-handler"), ("ApiReader", "api-reader"), ("ApiWriter", "api-writer"), ("Auditor", "auditor")):
            self.assertEqual(made.file(function), (INSTALLED / "functions" / f"{archive}.zip").read_bytes())
        for stack, file in (("AlarmStack", "alarms"), ("MappingAlarmStack", "mapping-alarms"), ("DashboardStack", "dashboard")):
            self.assertEqual(made.file(stack), (INSTALLED / "functions" / "infra" / f"{file}.yaml").read_bytes())

    def test_what_contradicts_itself_is_refused(self):
        self.assertEqual(self.refused.keys(), REFUSED.keys(), self.refused)
        for name, (_, said) in REFUSED.items():
            self.assertIn(said, self.refused[name])

    def test_a_table_of_the_app_takes_the_place_of_its_own(self):
        made = self.synthesized("table of the app")
        self.assertNotIn("Table", made.resources)
        (table,) = (id for id, one in made.template["Resources"].items() if one["Type"] == "AWS::DynamoDB::GlobalTable")
        stream = {"Fn::GetAtt": [table, "StreamArn"]}
        self.assertEqual(made.resources["TableChanges"]["Properties"]["EventSourceArn"], stream)
        named = made.resources["ApiReader"]["Properties"]["Environment"]["Variables"]["TABLE_NAME"]
        self.assertEqual(named, {"Fn::Select": [1, {"Fn::Split": ["/", {"parts": [stream, "/"]}]}]})
        self.assertEqual(made.outputs["TableStreamArn"], stream)

    def test_the_key_of_a_table_is_in_the_functions_and_the_callers_policies(self):
        def keys_of(resources, name):
            statements = [one for policy in resources[name]["Properties"]["Policies"] for one in policy["PolicyDocument"]["Statement"]]
            return [one["Resource"] for one in statements if "kms:Decrypt" in one["Action"]]

        made = self.synthesized("table with a key")
        (key,) = (id for id, one in made.template["Resources"].items() if one["Type"] == "AWS::KMS::Key")
        for role in ("StreamHandlerRole", "ApiReaderRole", "ApiWriterRole", "AuditorRole"):
            self.assertEqual(keys_of(made.resources, role), [{"Fn::GetAtt": [key, "Arn"]}], role)
        # Whoever is given the construct's own table gets its key.
        (caller,) = (one for id, one in self.synthesized("everything with its table").template["Resources"].items() if id.startswith("TreesCallerDefaultPolicy"))
        granted = [one["Resource"] for one in caller["Properties"]["PolicyDocument"]["Statement"] if "kms:Decrypt" in one["Action"]]
        self.assertEqual(granted, [EVERYTHING["KmsKeyArn"]])

    def test_the_names_of_a_table_of_the_app_are_taken_from_it(self):
        """An imported table's can't be known: the app says them."""
        for case in ("table in lower case", "Table in lower case", "imported in lower case"):
            made = self.synthesized(case)
            for function in ("StreamHandler", "ApiReader", "ApiWriter", "Auditor"):
                variables = made.resources[function]["Properties"]["Environment"]["Variables"]
                names = [variables[name] for name in ("PARTITION_KEY", "SORT_KEY", "TTL_ATTRIBUTE")]
                self.assertEqual(names, ["pk", "sk", "ttl"], f"{case}: {function}")
            pattern = made.resources["TableChanges"]["Properties"]["FilterCriteria"]["Filters"][0]["Pattern"]
            self.assertTrue(pattern.startswith('{"dynamodb":{"Keys":{"sk":{"S":["NODE"'), f"{case}: {pattern}")
        table = self.synthesized("table of the app").resources["ApiReader"]["Properties"]["Environment"]["Variables"]
        self.assertEqual([table[name] for name in ("PARTITION_KEY", "SORT_KEY", "TTL_ATTRIBUTE")], ["PK", "SK", "_expires"])

    def test_tags_reach_all_that_has_tags(self):
        """In the form that CloudFormation's schema of each type has."""
        made, kinds = self.synthesized("tagged"), set()
        for name, resource in made.resources.items():
            kind, tags = resource["Type"], resource["Properties"].get("Tags")
            about = schema(kind)
            if not about.get("tagging", {}).get("taggable", about.get("taggable", True)):
                self.assertIsNone(tags, name)
                continue
            kinds.add(kind)
            if about["properties"]["Tags"].get("type") == "object":
                self.assertEqual(tags, {"team": "forest", "lambda:createdBy": "us"}, name)
            else:
                self.assertEqual(tags, [{"Key": "lambda:createdBy", "Value": "us"}, {"Key": "team", "Value": "forest"}], name)
        self.assertGreater(len(kinds), 14, kinds)
        self.assertEqual(cfn_lint(self.temporary / "out" / "tagged" / "App.template.json", ignored=("W1030", "W1001")), [])

    def test_an_app_may_have_its_table_deleted(self):
        kept, deleted = (self.synthesized(case).resources["Table"] for case in ("defaults", "destroyed"))
        self.assertEqual((kept["DeletionPolicy"], kept["UpdateReplacePolicy"]), ("Retain", "Retain"))
        self.assertEqual((deleted["DeletionPolicy"], deleted["UpdateReplacePolicy"]), ("Delete", "Delete"))

    def test_a_list_may_have_what_is_known_only_later(self):
        origins = self.synthesized("origin").resources["Api"]["Properties"]["CorsConfiguration"]["AllowOrigins"]
        self.assertEqual(origins, {"Fn::Split": [",", {"parts": ["http://localhost:5173,https://", {"Ref": "Domain"}]}]})

    def test_versions_follow_what_they_hold_and_nothing_else(self):
        """Lambda publishes no second version of an unchanged function: CloudFormation would fail. And a change without a new version has no effect
        behind an alias."""

        def versions(case):
            made = self.synthesized(case)
            self.assertEqual({name for name in made.names.values() if name.endswith("Version")}, {f"{function}Version" for function in ALL})
            return {name.removesuffix("Version"): id for id, name in made.names.items() if name.endswith("Version")}

        for gradual in ("", "gradual "):
            before = versions(gradual.strip() or "defaults")
            for case, (_, _, wanted) in CHANGED.items():
                with self.subTest(gradual + case):
                    after = versions(gradual + case)
                    self.assertEqual({function for function in ALL if before[function] != after[function]}, wanted)
            self.assertEqual(len(set(before.values())), 3)

    def test_the_same_app_gives_the_same_template(self):
        self.synthesize({"defaults": {}, "table of the app": {"table": "own"}}, self.temporary / "again")
        for case in ("defaults", "table of the app"):
            again = (self.temporary / "again" / case / "App.template.json").read_text()
            self.assertEqual((self.temporary / "out" / case / "App.template.json").read_text(), again)

    def test_a_stack_can_have_two(self):
        one, other = self.synthesized("two"), self.synthesized("two", "Others")
        for resource, property in (("Api", "Name"), ("ApiAccessLogs", "LogGroupName")):
            names = [made.resources[resource]["Properties"].pop(property) for made in (one, other)]
            self.assertNotEqual(*names)
            self.assertIn("-Others", json.dumps(names[1]))
        self.assertEqual(one.resources, other.resources)
        self.assertEqual(set(one.names) & set(other.names), set())

    def test_a_stack_can_have_two_of_one_id_under_different_parents(self):
        one, other = self.synthesized("under two", "North/Trees"), self.synthesized("under two", "South/Trees")
        self.assertGreater(len(one.resources), 35)
        for resource, property in (("Api", "Name"), ("ApiAccessLogs", "LogGroupName")):
            names = [json.dumps(made.resources[resource]["Properties"][property]) for made in (one, other)]
            self.assertNotEqual(*names)
        self.assertEqual(set(one.names) & set(other.names), set())

    def test_what_it_makes_is_a_template_that_cfn_lint_takes(self):
        """But for what the CDK itself writes (its rule on regions, and its version)."""
        for name in ("defaults", "everything", "table of the app", "under two"):
            self.assertEqual(cfn_lint(self.temporary / "out" / name / "App.template.json", ignored=("W1030", "W1001")), [], name)

    def test_grants_are_those_of_a_caller(self):
        resources = json.dumps(self.synthesized("defaults").template["Resources"])
        self.assertIn('"execute-api:Invoke"', resources)
        self.assertIn("/*/GET/*", resources)


class Deployed(unittest.TestCase):
    """By the CDK's own command, on ministack."""

    @classmethod
    def setUpClass(cls):
        cls.emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        cls.addClassCleanup(cls.emulator.stop)
        cls.bucket = f"cdk-assets-{REGION}"
        where = {"CreateBucketConfiguration": {"LocationConstraint": REGION}}
        cls.emulator.client("s3").create_bucket(Bucket=cls.bucket, **where)
        # ministack knows no alarms that compute.
        for path in (INSTALLED / "functions" / "infra").glob("*.yaml"):
            template = yaml_parse(path.read_text())
            template["Resources"] = {id: it for id, it in template["Resources"].items() if "Metrics" not in it.get("Properties", {})}
            path.write_text(yaml_dump(template))

    def cdk(self, *arguments, **props):
        case = {"props": props, "bucket": self.bucket, "url": self.emulator.url}
        environment = self.emulator.environment | {"SAPWOOD_CASE": json.dumps(case), "CDK_DISABLE_VERSION_CHECK": "1", "AWS_ACCOUNT_ID": "000000000000"}
        command = [HERE / "node_modules" / ".bin" / "cdk", *arguments, "--app", "node trees.js", "--no-notices", "--no-version-reporting"]
        done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(f"{done.stdout}\n{done.stderr}\n{self.emulator.process.said()[-4000:]}")
        return done.stdout + done.stderr

    def test_a_the_command_deploys_it(self):
        began = time.monotonic()
        self.cdk("deploy", "--require-approval", "never", "--method", "direct")
        print(f"cdk deploy: {time.monotonic() - began:.0f} s")
        type(self).outputs = self.emulator.outputs("App")
        type(self).table = Table(self.emulator.client("dynamodb"), self.outputs["TableName"], Oracle())

    def test_b_base_records_fan_out(self):
        plant(self.table)
        self.table.settle(self)
        self.table.set("d", "parent", "W")
        self.table.settle(self)

    def test_c_the_functions_answer(self):
        for function, event, status in (("ApiWriterName", "create-node", 201), ("ApiReaderName", "get-node", 200)):
            payload = (Path(__file__).resolve().parents[1] / "events" / "api" / f"{event}.json").read_text()
            answer = self.emulator.client("lambda").invoke(FunctionName=self.outputs[function], Payload=payload)
            self.assertEqual(json.loads(answer["Payload"].read())["statusCode"], status, event)

    def test_d_a_changed_property_is_an_update(self):
        self.cdk("deploy", "--require-approval", "never", "--method", "direct", neverCopied="secret")
        self.assertEqual(self.emulator.outputs("App"), self.outputs)
        function = self.emulator.client("lambda").get_function_configuration(FunctionName=self.outputs["StreamHandlerName"])
        self.assertEqual(function["Environment"]["Variables"]["NEVER_COPIED"], "secret")

    def test_d_from_tokens_to_signatures_no_route_keeps_its_authorizer(self):
        """By the commands of the page. A route that names its authorizer no longer keeps it, on AWS."""
        routes, authorizers = (getattr(self.emulator.client("apigatewayv2"), f"get_{what}") for what in ("routes", "authorizers"))
        api = {"ApiId": self.outputs["ApiId"]}
        given = {"apiAuthorization": "JWT", "jwtIssuer": "https://issuer.example.com", "jwtAudience": "web"}
        self.cdk("deploy", "--require-approval", "never", "--method", "direct", **given)
        self.assertEqual({route["AuthorizationType"] for route in routes(**api)["Items"] if route["AuthorizerId"]}, {"JWT"})
        page = (ROOT / "docs/operate/secure-api.md").read_text().split("### Change from JWT to IAM")[1]
        commands = re.search(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
        self.emulator.shell(f"output() {{ echo {self.outputs['ApiId']}; }}\n{commands}")
        for _ in range(2):
            found = {(route["RouteKey"], route["AuthorizationType"], route.get("AuthorizerId")) for route in routes(**api)["Items"]}
            self.assertEqual({(kind, authorizer) for _, kind, authorizer in found}, {("AWS_IAM", None)}, found)
            self.cdk("deploy", "--require-approval", "never", "--method", "direct")
        self.assertEqual(authorizers(**api)["Items"], [])

    def test_e_the_stack_goes_and_the_table_stays(self):
        self.emulator.client("cloudformation").delete_stack(StackName="App")
        self.emulator.client("cloudformation").get_waiter("stack_delete_complete").wait(StackName="App", WaiterConfig={"Delay": 1, "MaxAttempts": 120})
        self.assertIn(self.outputs["TableName"], self.emulator.client("dynamodb").list_tables()["TableNames"])


class FromABucket(unittest.TestCase):
    """The package's template, as `sam package` uploads it, deployed by its URL: what docs/operate/package-cdk-terraform.md says of Terraform and others."""

    def test_the_packaged_template_is_deployed_by_its_url(self):
        emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        self.addCleanup(emulator.stop)
        package = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="cdk-"))) / "package"
        shutil.copytree(os.environ["SAPWOOD_PACKAGE"], package)
        for_the_emulator(package, emulator.url)
        where = {"CreateBucketConfiguration": {"LocationConstraint": REGION}}
        emulator.client("s3").create_bucket(Bucket="my-artifacts", **where)
        packaged = package / "packaged.yaml"
        files = ["--template-file", package / "template.yaml", "--output-template-file", packaged]
        code, said = emulator.sam("package", *files, "--s3-bucket", "my-artifacts")
        self.assertEqual(code, 0, said)
        emulator.client("s3").upload_file(str(packaged), "my-artifacts", "sapwood/0.1.0.yaml")
        # What Terraform's aws_cloudformation_stack asks for.
        cloudformation = emulator.client("cloudformation")
        cloudformation.create_stack(
            StackName="terraformed",
            TemplateURL=f"https://s3.{REGION}.amazonaws.com/my-artifacts/sapwood/0.1.0.yaml",
            Parameters=[{"ParameterKey": "OrderAttribute", "ParameterValue": "rank"}],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        waiter = cloudformation.get_waiter("stack_create_complete")
        waiter.wait(StackName="terraformed", WaiterConfig={"Delay": 1, "MaxAttempts": 120})
        table = Table(emulator.client("dynamodb"), emulator.outputs("terraformed")["TableName"], Oracle(order="rank"))
        table.node("D", rank={"N": "2"})
        table.node("V", parent="D", rank={"N": "10"})
        table.settle(self)


def main(names):
    loader, result = unittest.TestLoader(), Result()
    # In one suite: a class's fixture is there until the last of its tests.
    loader.loadTestsFromNames(names or ("Construct", "Deployed", "FromABucket"), sys.modules[__name__]).run(result)
    print(f"\ntest result: cdk. {result.passed} passed; {result.failed} failed;")
    return result.failed != 0 or result.passed == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
