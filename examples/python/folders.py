"""An example: folders in Sapwood's table, written and queried with boto3 alone.

    pip install boto3
    sapwood dev                      # in another terminal
    python folders.py
"""

import time
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Key

# The deepest level that has rows, as four digits.
DEEPEST = 98


class Folders:
    """Folders in one table. Each write is one base record; each question is one Query of rows, which follow records by a moment."""

    def __init__(self, table):
        self.table = table

    def put(self, id, parent=None, **attributes):
        """Creates or replaces a folder. A folder without a parent is a root."""
        above = {} if parent is None else {"parent": parent}
        self.table.put_item(Item={"PK": id, "SK": "NODE", **above, **attributes})

    def move(self, id, parent):
        """Moves a folder with its subtree: one attribute of one record. Nothing here keeps you from making a cycle; the HTTP API does."""
        self.table.update_item(
            Key={"PK": id, "SK": "NODE"},
            UpdateExpression="SET parent = :parent",
            ConditionExpression="attribute_exists(PK)",
            ExpressionAttributeValues={":parent": parent},
        )

    def get(self, id):
        """A folder's base record, which is never behind."""
        return self.table.get_item(Key={"PK": id, "SK": "NODE"}, ConsistentRead=True).get("Item")

    def levels(self, id, first=1, last=DEEPEST):
        """The rows of the folders from one level below a folder to another. Children are level 1."""
        return self._query(id, f"NODE#{first:04}#", f"NODE#{last:04}$")

    def children(self, id):
        """The rows of the folders directly below a folder."""
        return self.levels(id, 1, 1)

    def at(self, root, *names):
        """The rows of the folder at a path of ids below a root, and of its subtree."""
        path = "PATH#" + "#".join(names)
        return self._query(root, path, path + "$")

    def roots(self):
        """The rows of all roots."""
        return self._query("ROOTS", "ROOT#", "ROOT$")

    def ancestors(self, id):
        """The ids of a folder's ancestors, nearest first."""
        lineage = self.table.get_item(Key={"PK": id, "SK": "LINEAGE"}).get("Item", {})
        return lineage.get("ancestors", [])

    def note(self, id, number, **attributes):
        """Appends a revision of the topic `Note`. The condition keeps two writers from taking one number."""
        key = {"PK": id, "SK": f"v{number:03}_Note"}
        self.table.put_item(Item={**key, **attributes}, ConditionExpression="attribute_not_exists(PK)")

    def newest_note(self, id):
        """The newest revision of the topic `Note`, whatever its number."""
        return self.table.get_item(Key={"PK": id, "SK": "v0_Note"}).get("Item")

    def _query(self, partition, low, high):
        condition = Key("PK").eq(partition) & Key("SK").between(low, high)
        page = self.table.query(KeyConditionExpression=condition)
        yield from page["Items"]
        while "LastEvaluatedKey" in page:
            page = self.table.query(KeyConditionExpression=condition, ExclusiveStartKey=page["LastEvaluatedKey"])
            yield from page["Items"]


def local_table():
    """The table of a `sapwood dev` on this machine."""
    credentials = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1"}
    return boto3.resource("dynamodb", endpoint_url="http://127.0.0.1:8000", **credentials).Table("sapwood")


def main():
    """Makes a tree, moves a folder, and prints what was below a root before and after."""
    folders = Folders(local_table())
    folders.put("drive", name="Drive")
    folders.put("team", "drive", name="Team")
    folders.put("archive", "drive", name="Archive")
    folders.put("plans", "team", name="Plans", size=Decimal("12.5"))
    folders.note("plans", 1, text="First draft")
    time.sleep(2)
    print([row["_id"] for row in folders.levels("team")], folders.ancestors("plans"))
    folders.move("plans", "archive")
    time.sleep(2)
    print([row["_id"] for row in folders.levels("team")], folders.ancestors("plans"))


if __name__ == "__main__":
    main()
