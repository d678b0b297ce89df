#!/usr/bin/env python3
"""Fills the policies of docs/policies for a stack and attaches them to a role, a user or a group.

    python infra/policies --role deployers deployer deployer-api-and-alarms
    python infra/policies --role operators --stack sapwood records repair runbooks doctor redrive restore
    python infra/policies --print github-oidc-trust

Each policy becomes a managed policy named STACK-POLICY. A policy of that name is updated. The account and the partition come from your
credentials; the API, the table and the bucket come from the outputs of the stack. The script needs Python 3.10, boto3, and permissions to
create and attach policies. With --print it only prints the filled policies.

Exit code: 0 done; 1 AWS rejected a request; 2 wrong usage, or a value is missing.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

POLICIES = Path(__file__).resolve().parents[2] / "docs" / "policies"
# Which output of the stack has the value of a placeholder.
OUTPUTS = {"API_ID": "ApiId", "TABLE": "TableName", "BUCKET": "FailedRecordsBucket"}
# Which option has the value of a placeholder.
OPTIONS = {"KEY_ID": "key_id", "DOMAIN": "domain", "BOUNDARY": "boundary", "OWNER": "owner", "OWNER_ID": "owner_id", "REPOSITORY": "repository", "REPOSITORY_ID": "repository_id"}
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
PLACEHOLDER = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z_]+(?![A-Za-z0-9_])")
# IAM keeps five versions of a policy.
VERSIONS_MAX = 5


class Missing(Exception):
    """A policy needs a value that nobody has given."""


def filled(text, values, stack="sapwood", partition="aws"):
    """A policy with values in place of its placeholders, for the partition and the stack's name."""

    def value(found):
        word = found[0]
        if word in METHODS:
            return word
        if not values.get(word):
            where = f"the stack {stack} has no output {OUTPUTS[word]}: deploy first" if word in OUTPUTS else f"set --{word.lower().replace('_', '-')}"
            raise Missing(f"{word} has no value: {where}")
        return values[word]

    text = text.replace("arn:aws:", f"arn:{partition}:")
    if stack != "sapwood" and not stack.startswith("sapwood-"):
        # The buckets of a stack have its name in lower case.
        text = text.replace(":s3:::sapwood-", f":s3:::{stack.lower()}-")
        text = re.sub(r"(?<=[/:])sapwood(?=[-/*])", stack, text)
    return PLACEHOLDER.sub(value, text)


def values_of(session, options, texts):
    """The values of all placeholders, and the partition."""
    _, partition, _, _, account, _ = session.client("sts").get_caller_identity()["Arn"].split(":", 5)
    values = {"REGION": session.region_name, "ACCOUNT": account} | {word: getattr(options, name) for word, name in OPTIONS.items()}
    if any(set(PLACEHOLDER.findall(text)) & set(OUTPUTS) for text in texts):
        (stack,) = session.client("cloudformation").describe_stacks(StackName=options.stack)["Stacks"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}
        values |= {word: outputs.get(name) for word, name in OUTPUTS.items()}
    return values, partition, account


def put(iam, arn, name, document):
    """Creates a managed policy, or makes the document the default version of the one that there is."""
    try:
        iam.create_policy(PolicyName=name, PolicyDocument=document)
        return "created"
    except iam.exceptions.EntityAlreadyExistsException:
        versions = iam.list_policy_versions(PolicyArn=arn)["Versions"]
        (default,) = (version for version in versions if version["IsDefaultVersion"])
        present = iam.get_policy_version(PolicyArn=arn, VersionId=default["VersionId"])["PolicyVersion"]["Document"]
        if present == json.loads(document):
            return "unchanged"
        if len(versions) >= VERSIONS_MAX:
            oldest = min((version for version in versions if not version["IsDefaultVersion"]), key=lambda version: version["CreateDate"])
            iam.delete_policy_version(PolicyArn=arn, VersionId=oldest["VersionId"])
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)
        return "updated"


def run(options):
    texts = {name: (POLICIES / f"{name}.json").read_text() for name in options.policies}
    session = boto3.Session(profile_name=options.profile, region_name=options.region)
    if not session.region_name:
        raise Missing("there is no region: set --region or AWS_DEFAULT_REGION")
    values, partition, account = values_of(session, options, texts.values())
    documents = {name: json.dumps(json.loads(filled(text, values, options.stack, partition)), separators=(",", ":")) for name, text in texts.items()}
    if options.print:
        for document in documents.values():
            print(json.dumps(json.loads(document), indent=2))
        return
    iam = session.client("iam")
    (kind, principal), = ((kind, getattr(options, kind)) for kind in ("role", "user", "group") if getattr(options, kind))
    attach = getattr(iam, f"attach_{kind}_policy")
    for name, document in documents.items():
        arn = f"arn:{partition}:iam::{account}:policy/{options.stack}-{name}"
        done = put(iam, arn, f"{options.stack}-{name}", document)
        attach(**{f"{kind.capitalize()}Name": principal, "PolicyArn": arn})
        print(f"{options.stack}-{name}: {done}, and attached to the {kind} {principal}")


def main(arguments):
    parser = argparse.ArgumentParser(prog="policies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sorted(path.stem for path in POLICIES.glob("*.json"))
    parser.add_argument("policies", nargs="+", metavar="POLICY", choices=known, help=f"one of {', '.join(known)}")
    target = parser.add_mutually_exclusive_group(required=True)
    for kind in ("role", "user", "group"):
        target.add_argument(f"--{kind}", metavar="NAME", help=f"the {kind} that gets the policies")
    target.add_argument("--print", action="store_true", help="only print the filled policies")
    parser.add_argument("--stack", default="sapwood", metavar="NAME", help="the stack (default: sapwood)")
    parser.add_argument("--region", help="the region, if it isn't the environment's")
    parser.add_argument("--profile", help="the profile of your AWS configuration")
    parser.add_argument("--boundary", metavar="NAME", help="the name of the permissions boundary, for the policy boundary")
    parser.add_argument("--key-id", metavar="ID", help="the id of the KMS key, for the policy kms-key")
    parser.add_argument("--domain", metavar="NAME", help="the API's domain, for the policy custom-domain")
    for name in ("owner", "owner-id", "repository", "repository-id"):
        parser.add_argument(f"--{name}", help="of the repository on GitHub, for github-oidc-trust")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except Missing as missing:
        print(f"policies: {missing}", file=sys.stderr)
        return 2
    except (BotoCoreError, ClientError) as refused:
        print(f"policies: {refused}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
