"""A table as a foreign client sees it."""

import os
import time

WAIT = float(os.environ.get("REHEARSAL_WAIT", 120))


class Table:
    def __init__(self, client, name, oracle):
        self.client, self.name, self.oracle = client, name, oracle
        self.written = {}

    def put(self, pk, sk, **attributes):
        names = {self.oracle.partition_key: {"S": pk}, self.oracle.sort_key: {"S": sk}}
        self.put_item(names | {name: value if isinstance(value, dict) else {"S": value} for name, value in attributes.items()})

    def put_item(self, item):
        self.client.put_item(TableName=self.name, Item=item)
        self.written[self.key(item)] = item

    def node(self, id, parent=None, **attributes):
        self.put(id, self.oracle.node, **({self.oracle.parent: parent} if parent else {}), **attributes)

    def set(self, id, name, value):
        key = {self.oracle.partition_key: {"S": id}, self.oracle.sort_key: {"S": self.oracle.node}}
        given = {"ExpressionAttributeNames": {"#n": name}, "ExpressionAttributeValues": {":v": {"S": value}}}
        self.client.update_item(TableName=self.name, Key=key, UpdateExpression="SET #n = :v", **given)
        self.written[id, self.oracle.node][name] = {"S": value}

    def delete(self, pk, sk):
        self.client.delete_item(TableName=self.name, Key={self.oracle.partition_key: {"S": pk}, self.oracle.sort_key: {"S": sk}})
        self.written.pop((pk, sk), None)

    def key(self, item):
        return item[self.oracle.partition_key]["S"], item[self.oracle.sort_key]["S"]

    def items(self):
        pages = self.client.get_paginator("scan").paginate(TableName=self.name, ConsistentRead=True)
        return {self.key(item): ordered(item) for page in pages for item in page["Items"]}

    def differences(self):
        """Between what there is and what there must be, the base records as they were written here included."""
        return self.wrong_rows() + self.wrong_records()

    def wrong_rows(self):
        return self.oracle.differences(self.items())

    def wrong_records(self):
        found, written = self.oracle.base_of(self.items()), {key: ordered(item) for key, item in self.written.items()}
        keys = [key for key in found.keys() | written.keys() if own(found.get(key, {})) != own(written.get(key, {}))]
        return [f"base record {key}: written {written.get(key)}, found {found.get(key)}" for key in sorted(keys)]

    def settle(self, case, differences=None):
        """Waits until the table is as it must be."""
        until = time.monotonic() + WAIT
        while found := (differences or self.differences)():
            if time.monotonic() > until:
                case.fail(f"{len(found)} differences after {WAIT:.0f} s:\n" + "\n".join(found[:10]))
            time.sleep(0.5)


def own(item):
    """A user's part of it."""
    return {name: value for name, value in item.items() if not name.startswith("_")}


def ordered(item):
    """Sets have no order: theirs is made the same everywhere."""
    sets = ("SS", "NS", "BS")
    return {name: {kind: sorted(v) if kind in sets else v for kind, v in value.items()} for name, value in item.items()}
