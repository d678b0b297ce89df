"""The table as any client sees it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

# Requests at a time.
AT_ONCE = 8


class Table:
    """The table as any client sees it: its keys without the tenant, and the units that this client has used."""

    def __init__(self, client, name, settings, tenant):
        self.client, self.name, self.settings = client, name, settings
        self.tenant = f"TENANT#{tenant}#" if tenant else ""
        self.partition_key, self.sort_key = settings["PartitionKey"], settings["SortKey"]
        self.units, self.requests, self.lock = {"read": 0, "write": 0}, 0, threading.Lock()
        self.pool = ThreadPoolExecutor(AT_ONCE)

    def call(self, operation, **given):
        answer = getattr(self.client, operation)(ReturnConsumedCapacity="TOTAL", **given)
        used = answer.get("ConsumedCapacity") or []
        with self.lock:
            self.requests += 1
            for capacity in used if isinstance(used, list) else [used]:
                self.units["read" if operation in ("query", "get_item") else "write"] += capacity.get("CapacityUnits", 0)
        return answer

    def key(self, partition_key, sort_key):
        return {self.partition_key: {"S": self.tenant + partition_key}, self.sort_key: {"S": sort_key}}

    def put(self, key, item):
        self.call("put_item", TableName=self.name, Item=self.key(*key) | item)

    def set(self, key, name, value):
        given = {"ExpressionAttributeNames": {"#n": name}, "ExpressionAttributeValues": {":v": value}}
        self.call("update_item", TableName=self.name, Key=self.key(*key), UpdateExpression="SET #n = :v", **given)

    def delete(self, key):
        self.call("delete_item", TableName=self.name, Key=self.key(*key))

    def has(self, key):
        return "Item" in self.call("get_item", TableName=self.name, Key=self.key(*key), ConsistentRead=True)

    def write(self, puts=(), deletes=()):
        """Puts and deletes many items, in this order as far as a batch has one."""
        requests = [{"PutRequest": {"Item": self.key(*key) | item}} for key, item in puts]
        requests += [{"DeleteRequest": {"Key": self.key(*key)}} for key in deletes]
        pause = 0.05
        while requests:
            answer = self.call("batch_write_item", RequestItems={self.name: requests[:25]})
            refused = answer.get("UnprocessedItems", {}).get(self.name, [])
            requests = refused + requests[25:]
            if refused:
                time.sleep(pause)
                pause = min(2 * pause, 5)

    def query(self, partition_key, begins_with="", filter_on=None):
        names, values = {"#pk": self.partition_key}, {":pk": {"S": self.tenant + partition_key}}
        given = {"TableName": self.name, "ConsistentRead": True, "KeyConditionExpression": "#pk = :pk"}
        if begins_with:
            names["#sk"], values[":sk"] = self.sort_key, {"S": begins_with}
            given["KeyConditionExpression"] += " AND begins_with(#sk, :sk)"
        if filter_on:
            names["#f"], values[":f"] = filter_on[0], {"S": filter_on[1]}
            given["FilterExpression"] = "begins_with(#f, :f)"
        found, start = {}, {}
        while start is not None:
            page = self.call("query", ExpressionAttributeNames=names, ExpressionAttributeValues=values, **given, **start)
            for item in page["Items"]:
                key = item.pop(self.partition_key)["S"][len(self.tenant):], item.pop(self.sort_key)["S"]
                found[key] = item
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if page.get("LastEvaluatedKey") else None
        return found

    def collect(self, ids, prefix, elsewhere=(), operations=False):
        """All items of these ids, with what the register and the list of roots have of this prefix, and what stands elsewhere under these
        keys. No scan: the table may be large."""
        asked = [(id,) for id in ids] + [("ROOTS", f"ROOT#{prefix}"), *sorted(elsewhere)]
        asked += [(f"ORPHANS#{part:x}", f"ORPHAN#{prefix}") for part in range(16)]
        asked += [("OPERATIONS", "OPERATION#", ("_node", prefix))] if operations else []
        found = {}
        for items in self.pool.map(lambda each: self.query(*each), asked):
            found.update(items)
        return found
