#!/usr/bin/env python3
"""Tries a deployed Sapwood: writes trees and revisions over the table and over the API, waits for the rows, and compares.

    python infra/smoke --stack sapwood [--region REGION] [--profile PROFILE]
    python infra/smoke --table sapwood --endpoint http://127.0.0.1:8000 --api http://127.0.0.1:3000      # `sapwood dev`
    python infra/smoke --stack sapwood --read-only
    python infra/smoke --stack sapwood --clean smoke-20261122T125103-1f0a-     # after a run that was cut off

It needs Python 3.10, boto3, and credentials that may read the stack (cloudformation:DescribeStacks), describe, read and write the table
(DescribeTable, Query, GetItem, PutItem, UpdateItem, DeleteItem, BatchWriteItem) and call the API (execute-api:Invoke). It asks the stack
for its names and switches; without a stack the options below give them.

It writes 200 nodes, which other consumers of the stream and readers of the roots see for two minutes. All ids begin with a prefix of this
run (`smoke-…`), and all names with `smoke test: `. Everything is removed at the end, also after a failure or Ctrl-C. No table is scanned.
It costs a few thousand read and write units, which is less than a cent. With --read-only it writes nothing: it asks the API whether it answers
(/health), whether it reads the table (/roots), and how old the auditor's proof is (/health/audit).

Exit code: 0 everything is right; 1 something differs, and the output says what; 2 wrong usage, or nothing could be reached;
130 interrupted.
"""

import argparse
import os
import signal
import sys

try:
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:
    print("smoke: boto3 is missing. Install it with the list of a package (requirements.txt) or of the repository (.ci/requirements/deploy.txt):", file=sys.stderr)
    print("pip install --no-deps --require-hashes -r LIST", file=sys.stderr)
    sys.exit(2)

from run import PREFIX, Run
from target import Target, flag
from trouble import Unusable
from world import SETTINGS


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="smoke", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--stack", metavar="NAME", help="the stack. It names the table, the API, and the parameters below")
    what.add_argument("--table", metavar="NAME", help="the table, without a stack")
    parser.add_argument("--endpoint", metavar="URL", help="where DynamoDB is, if not on AWS")
    parser.add_argument("--api", metavar="URL", help="where the API is: a custom domain, or a local port")
    parser.add_argument("--no-api", action="store_true", help="leave the API out")
    parser.add_argument("--read-only", action="store_true", help="write nothing: ask the API alone")
    parser.add_argument("--token", default=os.environ.get("SMOKE_TOKEN") or None,
                        help="the bearer token for an API with ApiAuthorization=JWT (default: that of the variable SMOKE_TOKEN)")
    parser.add_argument("--tenant", metavar="NAME", help="the tenant, for a stack with a TenantClaim")
    parser.add_argument("--region", help="the region, if it isn't the environment's")
    parser.add_argument("--profile", help="the profile of your AWS configuration")
    parser.add_argument("--patience", type=float, metavar="SECONDS", help="how long to wait for rows (default: 120, and 300 for the first)")
    parser.add_argument("--metrics", action="store_true", help="print CloudWatch's metrics of the table and the handler; takes minutes")
    parser.add_argument("--clean", metavar="PREFIX", help="only remove what a run with this prefix has left")
    for name, default in SETTINGS.items():
        given = "the stack's" + (f", or {default}" if default else "")
        parser.add_argument(flag(name), dest=name, metavar="VALUE", help=f"the template's {name} (default: {given})")
    options = parser.parse_args(arguments)
    if options.read_only and (options.no_api or options.clean):
        parser.error("--read-only asks the API alone: leave out --no-api and --clean")
    if options.clean and not PREFIX.fullmatch(options.clean):
        parser.error("--clean takes the whole prefix that a run has printed, such as smoke-20261122T125103-1f0a-")
    return options


def main(arguments):
    options = options_of(arguments)
    # As Ctrl-C: what was written is removed. A shell may have had a background process ignore Ctrl-C itself.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        target = Target(options)
    except (Unusable, BotoCoreError, ClientError) as trouble:
        print(f"smoke: {trouble}", file=sys.stderr)
        return 2
    run = Run(options, target)
    api = target.api.url if target.api else "none"
    where = f"table {target.name}, region {target.session.region_name}, API {api}"
    print(where if options.read_only else f"{where}, prefix {run.prefix}", flush=True)
    return run.look() if options.read_only else run.main()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
