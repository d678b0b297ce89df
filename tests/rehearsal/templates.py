"""The template as it is written, as SAM translates it, and what of it stands under given parameters."""

import copy
import json
import logging
import os
import platform
import re
import subprocess
import tempfile
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_dump, yaml_parse
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

# What takes every condition's other side: a table that is there already, a key, tokens, tenants, gradual deployments, an auditor that only reads.
EVERYTHING = {
    "ExistingTableStreamArn": f"arn:aws:dynamodb:{REGION}:123456789012:table/orders/stream/2026-11-21T04:39:45.000",
    "KmsKeyArn": f"arn:aws:kms:{REGION}:123456789012:key/11111111-2222-3333-4444-555555555555",
    "ApiAuthorization": "JWT",
    "JwtIssuer": "https://issuer.example.com",
    "JwtAudience": "web,mobile",
    "JwtScopes": "read=trees/read,write=trees/write,delete=trees/delete",
    "TenantClaim": "tenant",
    "CorsOrigins": "https://app.example.com",
    "StreamHandlerConcurrency": "10",
    "Tracing": "on",
    "GradualDeployment": "true",
    "OlderCursors": "on",
    "Audit": "report",
    "AlarmEmail": "operators@example.com",
    "PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/boundary",
}


def written(path=TEMPLATE):
    return yaml_parse(path.read_text())


def write(template, path):
    path.write_text(yaml_dump(template))


def for_here(template, **variables):
    """A template whose functions run on this machine's processor, with more variables in their environment."""
    of_all = template["Globals"]["Function"]
    of_all["Architectures"] = [ARCHITECTURE]
    of_all["Environment"]["Variables"] |= variables
    return template


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
    """A template under given parameters: conditions are decided, what they leave out is gone, and what the parameters say is computed."""

    def __init__(self, template, parameters):
        declared = template["Parameters"]
        self.parameters = {name: str(parameter.get("Default", "")) for name, parameter in declared.items()}
        self.parameters |= parameters
        self.conditions = template.get("Conditions", {})
        self.mappings = template.get("Mappings", {})
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
            left, right = (str(self.computed(side)) for side in argument)
            return left == right
        if function == "Fn::Not":
            return not self.holds(argument[0])
        return {"Fn::And": all, "Fn::Or": any}[function](self.holds(one) for one in argument)

    def computed(self, value):
        """What is made of parameters and mappings."""
        if isinstance(value, list):
            return [self.computed(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((function, argument),) = value.items()
        if function == "Ref":
            return self.parameters[argument]
        if function == "Fn::Sub":
            return re.sub(r"\$\{(\w+)\}", lambda name: self.parameters[name[1]], argument)
        first, second, *rest = self.computed(argument)
        if function == "Fn::FindInMap":
            return self.mappings[first][second][rest[0]]
        return {
            "Fn::Select": lambda: second[int(first)],
            "Fn::Split": lambda: second.split(first),
            "Fn::Join": lambda: first.join(second),
        }[function]()

    def filled(self, value):
        """A resolved value with parameters in the place of references to them."""
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("Ref") in self.parameters:
            return self.parameters[value["Ref"]]
        return {name: self.filled(item) for name, item in value.items()}

    def resolved(self, value):
        if isinstance(value, list):
            return [item for item in map(self.resolved, value) if item is not None]
        if not isinstance(value, dict):
            return value
        if list(value) == ["Fn::If"]:
            condition, then, otherwise = value["Fn::If"]
            return self.resolved(then if self.holds(condition) else otherwise)
        if list(value) in (["Fn::FindInMap"], ["Fn::Select"], ["Fn::Join"]):
            return self.computed(value)
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
