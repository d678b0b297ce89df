"""A newcomer's walk: the commands of docs/operate/deploy.md and uninstall.md, word for word, on one machine's AWS.

Not walked: the tools' installation, `sam build` (the suite `building` has done it), `sam delete` (SAM can't read the addresses of an emulator's S3),
and `aws logs tail`, which the AWS CLI 1 doesn't have.
"""

import os
import re
import shutil
import unittest

from emulator import BUILT, Emulator
from templates import ROOT, for_here, write, written

PAGES = [(ROOT / "docs" / "operate" / name).read_text() for name in ("deploy.md", "uninstall.md")]


def blocks(heading):
    """The shell's blocks below a heading."""
    (_, section) = re.split(rf"^#+ {re.escape(heading)}$", "\n".join(PAGES), flags=re.M)
    section = re.split(r"^#+ ", section, flags=re.M)[0]
    return re.findall(r"^```sh\n(.*?)^```$", section, flags=re.M | re.S)


class Walking(unittest.TestCase):
    def setUp(self):
        self.emulator = Emulator(os.environ["MINISTACK_PYTHON"])
        self.addCleanup(self.emulator.stop)
        kept = BUILT.with_suffix(".kept")
        shutil.copy(BUILT, kept)
        self.addCleanup(kept.replace, BUILT)
        # The functions are told where AWS is, and that they were built for this machine.
        write(for_here(written(BUILT), AWS_ENDPOINT_URL=self.emulator.url), BUILT)

    def test_a_first_deployment_that_failed_is_cleared_away_and_an_older_table_stays(self):
        dynamodb = self.emulator.client("dynamodb")
        # Of a stack of the same name that was removed. Its name comes first in a list.
        keys = [{"AttributeName": name, "KeyType": kind} for name, kind in (("PK", "HASH"), ("SK", "RANGE"))]
        attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")]
        dynamodb.create_table(TableName="sapwood-Table-0", KeySchema=keys, AttributeDefinitions=attributes, BillingMode="PAY_PER_REQUEST")
        dynamodb.put_item(TableName="sapwood-Table-0", Item={"PK": {"S": "D"}, "SK": {"S": "NODE"}})
        ((_, deploy),) = (block.splitlines() for block in blocks("Deploy"))
        template = written(BUILT)
        # The emulator refuses an alarm that is computed.
        refused = written(ROOT / "infra" / "alarms.yaml")["Resources"]["TableReadThrottles"]
        refused["Properties"] = {name: value for name, value in refused["Properties"].items() if "Actions" not in name}
        template["Resources"]["Refused"] = refused | {"DependsOn": "Table"}
        write(template, BUILT)
        with self.assertRaises(RuntimeError):
            self.emulator.shell(deploy, answers="y\n")
        (stack,) = self.emulator.client("cloudformation").describe_stacks(StackName="sapwood")["Stacks"]
        self.assertEqual(stack["StackStatus"], "ROLLBACK_COMPLETE")
        left = set(dynamodb.list_tables()["TableNames"]) - {"sapwood-Table-0"}
        self.assertEqual(len(left), 1, "its table stays")

        look, clear = blocks("If the first deployment fails")
        said = self.emulator.shell(look)
        self.assertIn("Refused\t", said)
        self.assertEqual(said.splitlines()[-1], *left)
        self.emulator.shell(look + clear)
        self.assertEqual(dynamodb.list_tables()["TableNames"], ["sapwood-Table-0"])
        self.assertEqual(dynamodb.scan(TableName="sapwood-Table-0")["Count"], 1)
        stacks = self.emulator.client("cloudformation").describe_stacks()["Stacks"]
        self.assertNotIn("sapwood", [stack["StackName"] for stack in stacks])

    def test_from_two_commands_to_the_first_query_and_back_to_an_empty_account(self):
        ((build, deploy),) = (block.splitlines() for block in blocks("Deploy"))
        self.assertEqual(build, "sam build")
        self.assertIn("Successfully created/updated stack - sapwood", self.emulator.shell(deploy, answers="y\n"))

        (record,), (query, state) = blocks("Write the first records"), blocks("Query a subtree")
        asked = record + "for n in $(seq 60); do\n" + f"found=$({query})\n" + '[[ $found == *"NODE#0002#d"* ]] && break\nsleep 1\ndone\necho "$found"\n'
        found = self.emulator.shell(asked)
        self.assertIn("NODE#0001#V\tFolder V", found)
        self.assertIn("NODE#0002#d\tFolder d", found)
        names = "".join(line + "\n" for line in record.splitlines() if line.startswith(("stack=", "output()", "table=")))
        state, logs = state.splitlines()
        self.assertTrue(logs.startswith("aws logs tail"))
        self.assertIn("Enabled", self.emulator.shell(names + state))

        noted = re.search(r"outputs disappear with the stack: `([^`]*)`", PAGES[1])[1]
        removed = "aws cloudformation delete-stack --stack-name sapwood && aws cloudformation wait stack-delete-complete --stack-name sapwood\n"
        (everything,) = blocks("Delete the table and the bucket")
        self.emulator.shell(names + noted + "\n" + removed + everything)
        self.assertEqual(self.emulator.client("dynamodb").list_tables()["TableNames"], [])
        left = [bucket["Name"] for bucket in self.emulator.client("s3").list_buckets()["Buckets"]]
        self.assertEqual([name for name in left if not name.startswith("aws-sam-cli-managed")], [])
