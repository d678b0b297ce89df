"""The template as it is written, as SAM translates it, and what of it stands under given parameters."""

import copy
import json
import logging
import os
import platform
import subprocess
import tempfile
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

logging.disable(logging.WARNING)
ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"
NESTED = sorted((ROOT / "infra").glob("*.yaml"))
REGION = "eu-central-1"
# What takes long is done in full only (.ci/full).
FULL = os.environ.get("REHEARSAL") == "full"
# Functions that are run here are built for here.
ARCHITECTURE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")

# What takes every condition's other side: a table that is there already, a key, tracing, tokens, gradual deployments.
EVERYTHING = {
    "ExistingTableName": "orders",
    "ExistingTableStreamArn": f"arn:aws:dynamodb:{REGION}:123456789012:table/orders/stream/2026-11-21T04:39:45.000",
    "KmsKeyArn": f"arn:aws:kms:{REGION}:123456789012:key/11111111-2222-3333-4444-555555555555",
    "Tracing": "Active",
    "ApiAuthorization": "JWT",
    "JwtIssuer": "https://issuer.example.com",
    "JwtAudience": "web,mobile",
    "JwtScopes": "read=trees/read,write=trees/write,delete=trees/delete",
    "OlderCursors": "on",
    "GradualDeployment": "true",
    "StreamHandlerConcurrency": "10",
    "ApiReaderConcurrency": "10",
    "ApiWriterConcurrency": "10",
    "CorsOrigins": "https://app.example.com",
    "AwsEndpointUrl": "http://127.0.0.1:4566",
}


def written():
    return yaml_parse(TEMPLATE.read_text())


def translated(parameters=None, template=None):
    """What CloudFormation gets to see: SAM's resources replaced by AWS's."""
    template = copy.deepcopy(template or written())
    for resource in template["Resources"].values():
        # As it is after an upload.
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
        if resource["Type"] == "AWS::CloudFormation::Stack":
            resource["Properties"]["TemplateURL"] = "https://s3.amazonaws.com/bucket/key"
    session = boto3.Session(region_name=REGION)
    return Translator({}, Parser(), boto_session=session).translate(template, dict(parameters or {}))


def cfn_lint(*files, ignored=()):
    """What cfn-lint says of templates, a line for each finding."""
    checks = ["--ignore-checks", *ignored] if ignored else []
    command = ["cfn-lint", "--format", "parseable", "--regions", REGION, *checks, "--", *files]
    done = subprocess.run(command, capture_output=True, text=True)
    findings = done.stdout.splitlines()
    # It ends with the sum of what it found: 2 for errors, 4 for warnings, 8 for remarks. All else is a crash, and so is E0002, of a rule.
    crashed = done.returncode not in range(0, 16, 2) or "E0002" in done.stdout or done.stderr
    if crashed or (done.returncode == 0) != (findings == []):
        raise RuntimeError(f"cfn-lint ended with {done.returncode}: {done.stderr}{done.stdout}")
    return findings


def lint(template, ignored=()):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(template, file, indent=1)
        file.flush()
        return cfn_lint(file.name, ignored=ignored)


class Standing:
    """A template under given parameters: conditions are decided, and what they leave out is gone."""

    def __init__(self, template, parameters):
        declared = template["Parameters"]
        self.parameters = {name: str(parameter.get("Default", "")) for name, parameter in declared.items()}
        self.parameters |= parameters
        self.conditions = template.get("Conditions", {})
        standing = {id: it for id, it in template["Resources"].items() if self.holds(it.get("Condition"))}
        self.resources = {id: self.resolved(resource) for id, resource in standing.items()}

    def of_type(self, kind):
        return {id: resource for id, resource in self.resources.items() if resource["Type"] == kind}

    def holds(self, condition):
        if condition is None:
            return True
        if isinstance(condition, str):
            return self.holds(self.conditions[condition])
        ((function, argument),) = condition.items()
        if function == "Condition":
            return self.holds(argument)
        if function == "Fn::Equals":
            left, right = (self.parameters[side["Ref"]] if isinstance(side, dict) else str(side) for side in argument)
            return left == right
        if function == "Fn::Not":
            return not self.holds(argument[0])
        return {"Fn::And": all, "Fn::Or": any}[function](self.holds(one) for one in argument)

    def resolved(self, value):
        if isinstance(value, list):
            return [item for item in map(self.resolved, value) if item is not None]
        if not isinstance(value, dict):
            return value
        if list(value) == ["Fn::If"]:
            condition, then, otherwise = value["Fn::If"]
            return self.resolved(then if self.holds(condition) else otherwise)
        if value == {"Ref": "AWS::NoValue"}:
            return None
        items = ((name, self.resolved(item)) for name, item in value.items())
        return {name: item for name, item in items if item is not None}


def spelt(value):
    """A resource's name in a policy, short: `Table.Arn`, or the text of a `!Sub`."""
    if isinstance(value, str):
        return value
    ((function, argument),) = value.items()
    return {"Fn::GetAtt": lambda: ".".join(argument), "Ref": lambda: argument, "Fn::Sub": lambda: argument}[function]()
