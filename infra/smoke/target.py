"""What is tried: a stack's table and API."""

import os
import re
import shlex
import time
import urllib.parse
from datetime import datetime, timedelta, timezone

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from api import Api
from table import AT_ONCE, Table
from trouble import Unusable
from world import SETTINGS

# How long CloudWatch's metrics are waited for.
METRICS_SECONDS = 300


class Target:
    """What is tried: the table and the API, by the stack's outputs and parameters, or by the options."""

    def __init__(self, options):
        self.options, self.outputs, self.settings = options, {}, dict(SETTINGS)
        # boto3 reads AWS_DEFAULT_REGION alone. Other SDKs and the AWS CLI 2 read AWS_REGION first.
        region = options.region or os.environ.get("AWS_REGION")
        self.session = boto3.Session(region_name=region or None, profile_name=options.profile)
        if options.endpoint and is_here(options.endpoint) and not self.session.get_credentials():
            self.session = boto3.Session("local", "local", region_name=region or "us-east-1")
        if not self.session.region_name:
            raise Unusable("no region: give --region, or set AWS_DEFAULT_REGION or AWS_REGION")
        if not self.session.get_credentials():
            raise Unusable("no credentials: give --profile, or set them in the environment")
        parameters = self.described() if options.stack else {}
        self.settings.update({name: parameters[name] for name in SETTINGS if name in parameters})
        self.settings.update({name: given for name in SETTINGS if (given := getattr(options, name)) is not None})
        if parameters.get("FanOut") == "off" and not options.read_only:
            raise Unusable("the stack has FanOut=off: its handler is switched off")
        self.has_tenants = bool(options.tenant or parameters.get("TenantClaim"))
        if self.has_tenants and not options.tenant and not options.read_only:
            raise Unusable("the stack has tenants (TenantClaim): give --tenant NAME, and for the API --token with a token of that tenant, or --no-api")
        self.name = options.table or self.outputs.get("TableName")
        if not self.name:
            raise Unusable(f"the stack {options.stack} has no output TableName: is it Sapwood's?")
        self.table = Table(self.client("dynamodb", endpoint_url=options.endpoint), self.name, self.settings, options.tenant)
        if not options.read_only:
            self.check_table()
        self.api = self.make_api()
        given = [(f"--{name}", getattr(options, name)) for name in ("stack", "table", "endpoint", "region", "profile", "tenant")]
        given += [(flag(name), getattr(options, name)) for name in SETTINGS]
        # The options that name this target.
        self.words = " ".join(f"{name} {shlex.quote(value)}" for name, value in given if value)

    def client(self, service, **given):
        retries = {"mode": "standard", "max_attempts": 4}
        config = Config(retries=retries, max_pool_connections=2 * AT_ONCE, connect_timeout=10, read_timeout=60)
        return self.session.client(service, config=config, **given)

    def described(self):
        """The stack's parameters; its outputs are kept."""
        stack = self.client("cloudformation").describe_stacks(StackName=self.options.stack)["Stacks"][0]
        self.outputs = {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", [])}
        return {each["ParameterKey"]: each.get("ParameterValue", "") for each in stack.get("Parameters", [])}

    def check_table(self):
        described = self.table.client.describe_table(TableName=self.name)["Table"]
        found = {key["KeyType"]: key["AttributeName"] for key in described["KeySchema"]}
        given = {"HASH": self.settings["PartitionKey"], "RANGE": self.settings["SortKey"]}
        if found != given:
            names = " ".join(f"{flag(name)} {found.get(kind)}" for kind, name in (("HASH", "PartitionKey"), ("RANGE", "SortKey")))
            raise Unusable(f"the table {self.name} has other keys than {given['HASH']} and {given['RANGE']}: give {names}, "
                           "and --node-sort-key, --parent-attribute and --segment-attribute if these have other names, too")
        if described.get("StreamSpecification", {}).get("StreamEnabled") is False:
            raise Unusable(f"the table {self.name} has no stream")

    def make_api(self):
        options = self.options
        url = options.api or self.outputs.get("ApiUrl")
        if options.no_api or not url or options.clean:
            return None
        # `sapwood dev` has no authorizer.
        kind = self.settings["ApiAuthorization"] or ("JWT" if options.token else "NONE" if is_here(url) else "AWS_IAM")
        if kind == "JWT" and not options.token and not options.read_only:
            raise Unusable("the API wants a token (ApiAuthorization=JWT): give --token TOKEN, or --no-api")
        api = Api(url, kind, self.session, options.token)
        try:
            # Whatever it answers: the first step says what is wrong then.
            api.send("GET", "/health", None, {})
        except (OSError, ValueError) as error:
            raise Unusable(f"the API at {url} can't be reached: {error}. Give --no-api to leave it out") from None
        return api

    def say_what_the_mapping_does(self):
        if uuid := self.outputs.get("EventSourceMappingId"):
            try:
                mapping = self.client("lambda").get_event_source_mapping(UUID=uuid)
                print(f"    the event source mapping {uuid} is {mapping.get('State')}: {mapping.get('LastProcessingResult')}")
            except (BotoCoreError, ClientError) as error:
                print(f"    the event source mapping {uuid} can't be read: {error}")
            print(f"    the handler's log: aws logs tail {self.outputs.get('StreamHandlerLogGroup')} --since 10m")

    def say_metrics(self, began, written):
        """Prints what CloudWatch counted meanwhile: of the whole table, whoever used it."""
        asked = [("DynamoDB", f"Consumed{kind}CapacityUnits", "TableName", self.name, "Sum") for kind in ("Write", "Read")]
        if handler := self.outputs.get("StreamHandlerName"):
            measured = {"Invocations": "Sum", "Errors": "Sum", "Throttles": "Sum", "Duration": "Maximum", "IteratorAge": "Maximum"}
            asked += [("Lambda", name, "FunctionName", handler, how) for name, how in measured.items()]
        print("what CloudWatch counted, which is some minutes behind:", flush=True)
        until = time.monotonic() + METRICS_SECONDS
        try:
            # The handler's writes come on top of this script's.
            while ((found := [self.metric(began, *each) for each in asked])[0] or 0) <= written and time.monotonic() < until:
                time.sleep(15)
        except (BotoCoreError, ClientError) as error:
            print(f"    it can't be read: {error}")
            return
        for (_, name, *_, how), value in zip(asked, found):
            print(f"    {name}, {how.lower()}: {'nothing yet' if value is None else f'{value:,.0f}'}")

    def metric(self, began, namespace, name, dimension, value, how):
        points = self.client("cloudwatch").get_metric_statistics(
            Namespace=f"AWS/{namespace}",
            MetricName=name,
            Dimensions=[{"Name": dimension, "Value": value}],
            Statistics=[how],
            StartTime=datetime.fromtimestamp(began, timezone.utc).replace(second=0, microsecond=0),
            EndTime=datetime.now(timezone.utc) + timedelta(minutes=1),
            Period=60,
        )["Datapoints"]
        return (sum if how == "Sum" else max)(point[how] for point in points) if points else None


def is_here(url):
    return urllib.parse.urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def flag(parameter):
    return "--" + re.sub(r"(?<=.)([A-Z])", r"-\1", parameter).lower()
