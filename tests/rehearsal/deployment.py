"""A deployment on one machine's AWS, from the first `sam deploy` to the removal of everything.

What ministack doesn't do isn't shown here: it enforces no permissions, and its mapping knows no failed records or destinations. Its API
wants a signature without looking at it.
"""

import json
import os
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from emulator import Emulator
from filtering import WANTED
from oracle import Oracle
from table import Table
from templates import FULL, REGION, ROOT

EVENTS = ROOT / "tests" / "events" / "api"


def plant(table):
    """Trees of four levels, siblings of one name, an orphan, a cycle, histories, and what is none of Sapwood's business."""
    table.node("D", name="Drive D", secret="1")
    table.node("W", name="Drive W")
    table.node("d", parent="V", name="Folder d")
    table.node("V", parent="D", name="Folder V", size={"N": "12"}, tags={"L": [{"S": "a"}, {"BOOL": True}]})
    for number in range(12):
        table.node(f"f{number:02}", parent="d", name=f"File {number}")
    table.node("ORDER#1234", parent="d", total={"N": "12.5"})
    table.node("n1", parent="V", segment="NE")
    table.node("n2", parent="V", segment="NE")
    table.node("under n2", parent="n2", segment="50% # $")
    table.node("orphan", parent="nobody")
    table.node("c1", parent="c2")
    table.node("c2", parent="c1")
    for version, auditor in (("v001", "Rick"), ("v002", "Padma"), ("v003", "Ada")):
        table.put("eq", f"{version}_Audit", auditor=auditor)
    table.put("eq", "v001_Audit#wheel-2", auditor="Rick")
    table.put("eq", "va1000_Log", line="a thousand")
    table.put("eq", "v999_Log", line="one less")
    table.put("eq", "vacation", days={"N": "3"})
    table.put("CUSTOMER#1", "ORDER#1", total={"N": "1"})


def passes(sort_key, node):
    """Whether the filter is to let a record of this sort key through, where nodes have that one."""
    return sort_key == node or sort_key != "NODE" and WANTED.fullmatch(sort_key) is not None


class Deployment(unittest.TestCase):
    maxDiff = None
    stacks = ("existing", "rehearsal") if FULL else ("rehearsal",)
    # The sort key of nodes, by the name of the sort key's attribute: each stack has another.
    node_of = {"SK": "NODE", "sk": "METADATA"}

    @classmethod
    def setUpClass(cls):
        cls.emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        cls.addClassCleanup(cls.emulator.stop)

    def client(self, service):
        return self.emulator.client(service)

    def test_a_combination_that_makes_no_sense_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "JwtIssuer is needed"):
            self.emulator.deploy("refused", ApiAuthorization="JWT")

    def test_the_built_template_is_deployed(self):
        began = time.monotonic()
        said = self.emulator.deploy("rehearsal")
        self.assertIn("Successfully created/updated stack", said)
        print(f"sam deploy: {time.monotonic() - began:.0f} s")
        type(self).outputs = self.emulator.outputs("rehearsal")
        type(self).table = Table(self.client("dynamodb"), self.outputs["TableName"], Oracle())

    def test_everything_is_there(self):
        table = self.client("dynamodb").describe_table(TableName=self.outputs["TableName"])["Table"]
        self.assertTrue(table["DeletionProtectionEnabled"])
        self.assertEqual(table["StreamSpecification"], {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        self.assertNotIn("GlobalSecondaryIndexes", table)
        alarms = self.client("cloudwatch").describe_alarms()["MetricAlarms"]
        # All but the four on DynamoDB's metrics, for which the emulator would have to compute.
        self.assertEqual(len(alarms), 19)
        self.assertEqual(len(self.client("cloudwatch").list_dashboards()["DashboardEntries"]), 1)
        json.loads(self.dashboard())
        routes = self.client("apigatewayv2").get_routes(ApiId=self.outputs["ApiId"])["Items"]
        self.assertEqual({route["AuthorizationType"] for route in routes}, {"AWS_IAM"})
        self.assertEqual(len(routes), 8)

    def dashboard(self):
        client = self.client("cloudwatch")
        name = client.list_dashboards()["DashboardEntries"][0]["DashboardName"]
        return client.get_dashboard(DashboardName=name)["DashboardBody"]

    def test_the_same_again_changes_nothing(self):
        said = self.emulator.deploy("rehearsal")
        self.assertIn("No changes to deploy", said)

    def test_base_records_of_a_foreign_client_fan_out(self):
        plant(self.table)
        self.table.settle(self)

    def test_renames_moves_deletions_and_revisions_do(self):
        table = self.table
        table.set("V", "name", "Folder V, renamed")
        table.set("n1", "segment", "OMAHA")
        table.set("d", "parent", "W")
        table.set("c1", "parent", "W")
        table.delete("f03", "NODE")
        table.delete("n2", "NODE")
        table.node("nobody", parent="D", name="somebody now")
        table.delete("eq", "v003_Audit")
        table.put("eq", "v002_Audit#wheel-2", auditor="Grace")
        table.delete("eq", "v001_Audit#wheel-2")
        table.settle(self)

    def test_no_derived_row_ever_reached_the_handler(self):
        """Every record of the stream that the filter lets through was handled once, and nothing else was."""
        invoked, handled = self.quiet(self.outputs)
        changed, passing = self.changes(self.outputs, "SK")
        print(f"{changed} records, {passing} of them pass the filter, {invoked} invocations with {handled} records")
        self.assertGreater(changed - passing, 50)
        self.assertEqual(handled, passing)
        self.assertLessEqual(invoked, passing)
        time.sleep(5)
        self.assertEqual(self.invocations(self.outputs), (invoked, handled), "the handler must come to rest")

    def quiet(self, outputs):
        """The invocations, once there are no more."""
        seen, since = None, time.monotonic()
        while time.monotonic() - since < 3:
            if (now := self.invocations(outputs)) != seen:
                seen, since = now, time.monotonic()
            time.sleep(0.5)
        return seen

    def invocations(self, outputs):
        """How often the handler was invoked, and with how many records, by its logs."""
        pages = self.client("logs").get_paginator("filter_log_events").paginate(logGroupName=outputs["StreamHandlerLogGroup"])
        lines = [event["message"] for page in pages for event in page["events"]]
        batches = [json.loads(line) for line in lines if line.startswith("{") and '"message":"batch"' in line]
        return sum(line.startswith("START ") for line in lines), sum(batch["records"] for batch in batches)

    def changes(self, outputs, sort_key):
        """How many records the stream has, and how many of them are to pass the filter."""
        client, keys = self.client("dynamodbstreams"), []
        arn = outputs["TableStreamArn"]
        for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = client.get_shard_iterator(**asked)["ShardIterator"]
            while iterator and (page := client.get_records(ShardIterator=iterator))["Records"]:
                keys += [record["dynamodb"]["Keys"][sort_key]["S"] for record in page["Records"]]
                iterator = page.get("NextShardIterator")
        return len(keys), sum(passes(key, self.node_of[sort_key]) for key in keys)

    def test_a_changed_parameter_is_an_update_in_place(self):
        said = self.emulator.deploy("rehearsal", NeverCopied="secret")
        self.assertIn("Successfully created/updated stack", said)
        self.assertEqual(self.emulator.outputs("rehearsal"), self.outputs)
        # It takes effect as nodes are written.
        self.table.oracle.never_copied = frozenset({"secret"})
        for key, name in (("D", "Drive D, renamed"), ("W", "Drive W, renamed")):
            self.table.set(key, "name", name)
        self.table.settle(self)
        self.assertIn("secret", self.table.items()["D", "NODE"])
        self.assertNotIn("secret", self.table.items()["ROOTS", "ROOT#D"])

    def test_the_api_answers_events_of_api_gateway(self):
        wanted = {
            "create-node": 201,
            "get-node": 200,
            "create-node-base64": 201,
            "create-node-of-a-tenant": 409,
            "move-node": 422,
            "get-node-of-every-kind-of-byte": 404,
            "list-descendants": 200,
            "list-descendants-by-prefix": 404,
            "append-revision": 201,
            "decoded-number-sign": 400,
            "decoded-question-mark": 400,
            "decoded-space": 400,
            "decoded-tree": 400,
            "decoded-dots": 400,
            "decoded-slash": 404,
            "stray-percent": 400,
            "delete-subtree": 202,
        }
        self.assertEqual(set(wanted), {path.stem for path in EVENTS.glob("*.json")})
        found = {name: self.send(name)["statusCode"] for name in wanted}
        self.assertEqual(found, wanted)

    def send(self, name):
        event = (EVENTS / f"{name}.json").read_text()
        reads = json.loads(event)["requestContext"]["http"]["method"] in ("GET", "HEAD")
        function = self.outputs["ApiReaderName" if reads else "ApiWriterName"]
        answer = self.client("lambda").invoke(FunctionName=function, Payload=event)
        self.assertNotIn("FunctionError", answer)
        return json.loads(answer["Payload"].read())

    def test_the_routes_lead_to_the_functions(self):
        self.assertEqual(self.ask("PUT", "/nodes/by-route", {"parent": "W"})[0], 201)
        status, node = self.ask("GET", "/nodes/by-route")
        self.assertEqual((status, node["parent"]), (200, "W"))
        self.assertEqual(self.ask("HEAD", "/nodes/by-route")[0], 200)
        self.assertEqual(self.ask("PATCH", "/nodes/by-route", {"attributes": {"a": 1}})[0], 200)
        self.assertEqual(self.ask("POST", "/batch", {"operations": [{"put": {"id": "by-batch", "parent": "W"}}]})[0], 200)
        self.assertEqual(self.ask("GET", "/operations/00000000-0000-4000-8000-000000000000")[0], 404)
        self.assertEqual(self.ask("DELETE", "/nodes/by-route")[0], 204)
        self.assertEqual(self.ask("GET", "/nodes/by-route")[0], 404)

    def test_the_api_is_closed(self):
        for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"):
            self.assertEqual(self.ask(method, "/nodes/W", signed=False)[0], 403, method)

    def ask(self, method, path, body=None, signed=True):
        url = f"{self.emulator.url}/_aws/execute-api/{self.outputs['ApiId']}/$default{path}"
        data = json.dumps(body).encode() if body is not None else None
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        asked = AWSRequest(method, url, {"content-type": kind} if data else {}, data)
        if signed:
            SigV4Auth(self.emulator.session.get_credentials(), "execute-api", REGION).add_auth(asked)
        request = urllib.request.Request(url, data=data, method=method, headers=dict(asked.headers))
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else None

    def test_what_the_api_wrote_fans_out_too(self):
        """And what it removed is gone."""
        self.table.settle(self, self.table.wrong_rows)

    @unittest.skipUnless(FULL, "it takes another deployment")
    def test_a_second_stack_on_a_table_that_is_there_already(self):
        """With names of its own, beside the first stack and without touching it."""
        names = {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}
        made = self.client("dynamodb").create_table(
            TableName="orders",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=names,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )["TableDescription"]
        before = self.client("dynamodb").list_tables()["TableNames"]
        existing = {"ExistingTableStreamArn": made["LatestStreamArn"]}
        keys = {"PartitionKey": "pk", "SortKey": "sk", "NodeSortKey": "METADATA"}
        attributes = {"ParentAttribute": "up", "SegmentAttribute": "label"}
        self.emulator.deploy("existing", **existing, **keys, **attributes)
        self.assertEqual(self.client("dynamodb").list_tables()["TableNames"], before, "no table is made")
        outputs = self.emulator.outputs("existing")
        self.assertEqual((outputs["TableName"], outputs["TableStreamArn"]), ("orders", made["LatestStreamArn"]))
        shared = {name for name in outputs if outputs[name] == self.outputs[name]}
        self.assertEqual(shared, set(), "nothing belongs to both")
        oracle = Oracle(partition_key="pk", sort_key="sk", node="METADATA", parent="up", segment="label")
        table = Table(self.client("dynamodb"), "orders", oracle)
        table.node("D", name="Drive D")
        table.node("V", parent="D", label="Vee", segment="a user's own here")
        table.node("d", parent="V")
        table.put("d", "NODE", parent="D", note="nobody's node here")
        table.put("d", "v001_Audit", auditor="Rick")
        table.settle(self)
        table.set("V", "up", "d")
        table.set("d", "up", "D")
        table.settle(self)
        self.assertEqual(self.quiet(outputs)[1], self.changes(outputs, "sk")[1])

    def test_the_smoke_run_is_all_right(self):
        """infra/smoke knows the names and switches by each stack's outputs and parameters, and leaves nothing in the table."""
        for stack in self.stacks:
            with self.subTest(stack):
                outputs = self.emulator.outputs(stack)
                api = f"{self.emulator.url}/_aws/execute-api/{outputs['ApiId']}/$default"
                command = [sys.executable, ROOT / "infra" / "smoke", "--stack", stack, "--api", api]
                done = subprocess.run(command, env=self.emulator.environment, capture_output=True, text=True)
                print(done.stdout)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotIn("isn't tried", done.stdout)
                pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=outputs["TableName"], ConsistentRead=True)
                self.assertNotIn("smoke-", str([page["Items"] for page in pages]))

    def test_a_filter_that_let_rows_through_would_be_noticed(self):
        """By the counts that the tests above rely on."""
        everything = {"Filters": [{"Pattern": json.dumps({"dynamodb": {"Keys": {"SK": {"S": [{"prefix": ""}]}}}})}]}
        mapping = self.client("lambda")
        mapping.update_event_source_mapping(UUID=self.outputs["EventSourceMappingId"], FilterCriteria=everything)
        self.table.node("another", parent="d")
        # The API wrote base records that this client doesn't know of.
        self.table.settle(self, self.table.wrong_rows)
        self.assertGreater(self.quiet(self.outputs)[1], self.changes(self.outputs, "SK")[1])

    def test_a_gradual_deployment_serves_the_parameters_of_this_deployment(self):
        """When it is switched on and nothing else changes; when a parameter of one function changes while no code does; and switched off."""
        function, alias = (self.outputs["ApiReaderName"] + ending for ending in ("", ":live"))

        def served(name):
            configuration = self.client("lambda").get_function_configuration(FunctionName=name)
            return configuration["Environment"]["Variables"]["CORS_ORIGINS"]

        for parameters, origins in (
            ({"GradualDeployment": "true"}, ""),
            ({"GradualDeployment": "true", "CorsOrigins": "https://a.example"}, "https://a.example"),
            ({"GradualDeployment": "false", "CorsOrigins": "https://a.example"}, "https://a.example"),
        ):
            said = self.emulator.deploy("rehearsal", **parameters)
            self.assertIn("Successfully created/updated stack", said)
            self.assertEqual(served(alias), origins)
            mapping = self.client("lambda").get_event_source_mapping(UUID=self.outputs["EventSourceMappingId"])
            gradual = parameters["GradualDeployment"] == "true"
            self.assertEqual(mapping["FunctionArn"].endswith(":live"), gradual, mapping["FunctionArn"])
        self.assertEqual(served(function), origins)

    def test_a_stack_that_goes_leaves_the_table_and_what_is_in_it(self):
        self.client("s3").put_object(Bucket=self.outputs["FailedRecordsBucket"], Key="a/failed/batch", Body=b"{}")
        before = self.kept()
        # What `sam delete` does, but for what it uploaded: it can't read the addresses of an emulator's S3.
        cloudformation = self.client("cloudformation")
        for stack in self.stacks:
            cloudformation.delete_stack(StackName=stack)
            cloudformation.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig={"Delay": 1, "MaxAttempts": 300})
        self.assertEqual(self.kept(), before)
        self.assertEqual("orders" in self.client("dynamodb").list_tables()["TableNames"], FULL, "nor is a table that was there before")
        self.assertEqual(len(self.client("s3").list_objects_v2(Bucket=self.outputs["FailedRecordsBucket"])["Contents"]), 1)
        self.assertEqual(set().union(*map(self.left, self.stacks)), {self.outputs["TableName"], *self.buckets()})

    def kept(self):
        """All but what the auditor writes at each run."""
        return {key: item for key, item in self.table.items().items() if key != ("SAPWOOD", "AUDIT")}

    def test_the_documented_way_removes_the_rest(self):
        """docs/operate/uninstall.md, "Delete the table and the bucket"."""
        dynamodb, s3 = self.client("dynamodb"), self.client("s3")
        with self.assertRaises(dynamodb.exceptions.ClientError):
            dynamodb.delete_table(TableName=self.outputs["TableName"])
        dynamodb.update_table(TableName=self.outputs["TableName"], DeletionProtectionEnabled=False)
        dynamodb.delete_table(TableName=self.outputs["TableName"])
        for bucket in self.buckets():
            for item in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
                s3.delete_object(Bucket=bucket, Key=item["Key"])
            s3.delete_bucket(Bucket=bucket)
        self.assertEqual(set().union(*map(self.left, self.stacks)), set())

    def buckets(self):
        names = [bucket["Name"] for bucket in self.client("s3").list_buckets()["Buckets"]]
        return [name for name in names if name.startswith(("rehearsal-", "existing-"))]

    def left(self, stack):
        """What there is of a stack, by name, of every kind that it has."""
        names = set(self.client("dynamodb").list_tables()["TableNames"])
        names |= {function["FunctionName"] for function in self.client("lambda").list_functions()["Functions"]}
        names |= {bucket["Name"] for bucket in self.client("s3").list_buckets()["Buckets"]}
        names |= {role["RoleName"] for role in self.client("iam").list_roles()["Roles"]}
        names |= {alarm["AlarmName"] for alarm in self.client("cloudwatch").describe_alarms()["MetricAlarms"]}
        names |= {entry["DashboardName"] for entry in self.client("cloudwatch").list_dashboards()["DashboardEntries"]}
        names |= {api["Name"] for api in self.client("apigatewayv2").get_apis()["Items"]}
        names |= {rule["Name"] for rule in self.client("events").list_rules()["Rules"]}
        names |= {secret["Name"] for secret in self.client("secretsmanager").list_secrets()["SecretList"]}
        groups = self.client("logs").describe_log_groups()["logGroups"]
        names |= {group["logGroupName"].removeprefix("/aws/cloudformation/") for group in groups}
        return {name for name in names if name == stack or name.startswith((f"{stack}-", f"{stack}/"))}
