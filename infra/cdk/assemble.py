#!/usr/bin/env python3
"""Makes the npm package @sapwood/cdk of a package of `.ci/package`: the functions as they are, the template as SAM translates it, and the
construct's properties.

    python infra/cdk/assemble.py PACKAGE DIRECTORY

PACKAGE is the unpacked package, DIRECTORY is where the files go. `.ci/cdk` then compiles them. The script needs SAM's modules.
"""

import copy
import json
import logging
import re
import shutil
import sys
import textwrap
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

logging.disable(logging.WARNING)
HERE = Path(__file__).resolve().parent
# Where a template says that an archive is. The construct puts the uploaded asset in its place.
PLACE = "sapwood"
REGION = "eu-central-1"
# The construct has these by other names: the table itself.
LEFT_OUT = {"ExistingTableStreamArn"}


def translated(template, gradual):
    """What CloudFormation gets to see. SAM makes CodeDeploy's resources only if it reads `true` here."""
    template = copy.deepcopy(template)
    for resource in template["Resources"].values():
        properties = resource["Properties"]
        if resource["Type"] == "AWS::Serverless::Function":
            properties["CodeUri"] = f"s3://{PLACE}/{properties['CodeUri']}"
        if resource["Type"] == "AWS::CloudFormation::Stack":
            properties["TemplateURL"] = f"https://s3.amazonaws.com/{PLACE}/{properties['TemplateURL']}"
    session = boto3.Session(region_name=REGION)
    made = Translator({}, Parser(), boto_session=session).translate(template, {"GradualDeployment": gradual})
    for resource in made["Resources"].values():
        resource.pop("Metadata", None)
    del made["Metadata"]
    return made


def lower(name):
    return name[0].lower() + name[1:]


def kind(parameter):
    """The type of a property, as TypeScript writes it."""
    values = parameter.get("AllowedValues")
    if values in (["on", "off"], ["true", "false"]):
        return "boolean"
    if values:
        return " | ".join(f'"{value}"' for value in values)
    pattern = parameter.get("AllowedPattern", "")
    if "separated by commas" in " ".join(parameter["Description"].split()) or "(," in pattern:
        return "string | readonly string[]"
    return "string | number" if pattern.startswith("^[0-9]") else "string"


def properties(template):
    """The construct's properties: the template's parameters."""
    lines = ["// Made of the template's parameters by assemble.py.", "", "/** What can be said of a deployment: the template's parameters (docs/reference/parameters.md). */"]
    lines.append("export interface SapwoodParameters {")
    for name, parameter in template["Parameters"].items():
        if name in LEFT_OUT:
            continue
        about = re.sub(r"\s+", " ", parameter["Description"]).strip()
        default = parameter["Default"]
        lines += ["  /**", *(f"   * {line}" for line in textwrap.wrap(f"{about}.", 120)), "   *", f"   * @default {json.dumps(default)}", "   */"]
        lines.append(f"  readonly {lower(name)}?: {kind(parameter)};")
    return "\n".join([*lines, "}", ""])


def main(package, directory):
    template = yaml_parse((package / "template.yaml").read_text())
    functions = directory / "functions"
    shutil.copytree(HERE / "src", directory / "src", dirs_exist_ok=True)
    shutil.rmtree(functions, ignore_errors=True)
    functions.mkdir()
    for archive in package.glob("*.zip"):
        shutil.copy(archive, functions)
    shutil.copytree(package / "infra", functions / "infra", ignore=shutil.ignore_patterns("smoke", "cdk"))
    for gradual in ("false", "true"):
        name = "gradual.json" if gradual == "true" else "template.json"
        (functions / name).write_text(json.dumps(translated(template, gradual), indent=1) + "\n")
    (directory / "src" / "parameters.ts").write_text(properties(template))
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSES-THIRD-PARTY.txt", "sbom.cdx.json"):
        shutil.copy(package / name, directory)
    for name in ("package.json", "tsconfig.json", "README.md"):
        if HERE != directory:
            shutil.copy(HERE / name, directory)


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:3]))
