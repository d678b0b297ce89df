"""SpiceDB: a relation `parent` between folders, by which the permission `view` goes down, as its guide to modelling has it."""

import json
import time

from peer import ROOT, AuthorizationService, Refused, chunks, free_port

# Most changes of a request, by default.
WRITES_MAX = 1000

SCHEMA = """
definition user {}
definition folder {
  relation parent: folder
  relation viewer: user
  permission view = viewer + parent->view
}
"""
# What a server on this machine's own address needs to be asked at all.
KEY = "peers"


class SpiceDb(AuthorizationService):
    name = "SpiceDB"
    version = "1.56.2"
    lifted = {"depth": "--dispatch-max-depth=200"}
    written_things = ("relationship", "relationships")
    fresh = "with the token of the move"

    def start(self, options=()):
        http, grpc = free_port(), free_port()
        addresses = (f"--grpc-addr=127.0.0.1:{grpc}", "--http-enabled", f"--http-addr=127.0.0.1:{http}")
        off = ("--metrics-enabled=false", "--telemetry-endpoint=", "--skip-release-check", "--datastore-engine=memory")
        self.run([ROOT / f".cache/peers/spicedb-{self.version}/spicedb", "serve", f"--grpc-preshared-key={KEY}", *addresses, *off, *options])
        self.connect(http)
        self.wait_until(lambda: self.answers("POST", "/v1/schema/write", {"schema": SCHEMA}, self.headers()))
        self.token, self.marks, self.changes = None, 0, 0
        self.settle()

    def load(self, folders):
        for some in chunks([("TOUCH", folder, "parent", "folder", parent) for folder, parent in folders if parent], WRITES_MAX):
            self.write(*some)

    def grant(self, folder, principal):
        self.write(("TOUCH", folder, "viewer", "user", principal))

    def move(self, folder, old, new):
        self.write(("TOUCH", folder, "parent", "folder", new), ("DELETE", folder, "parent", "folder", old))

    def check(self, folder, principal, fresh=False):
        body = {"resource": object_of("folder", folder), "permission": "view", "subject": user(principal), **self.consistency(fresh)}
        return json.loads(self.post("/v1/permissions/check", body))["permissionship"] == "PERMISSIONSHIP_HAS_PERMISSION"

    def list(self, principal, fresh=False):
        body = {"resourceObjectType": "folder", "permission": "view", "subject": user(principal), **self.consistency(fresh)}
        return [json.loads(line)["result"]["resourceObjectId"] for line in self.post("/v1/permissions/resources", body).splitlines()]

    ways = {"": list}

    def settle(self):
        """Until a question without a token sees a mark that it hasn't seen at first. (In its first seconds a new server shows everything at once.)"""
        changes = self.changes
        while self.sees(mark := self.mark()):
            time.sleep(0.1)
        self.wait_until(lambda: self.sees(mark))
        self.changes = changes

    def mark(self):
        self.marks += 1
        self.grant(f"mark{self.marks}", "mark")
        return f"mark{self.marks}"

    def sees(self, mark):
        return self.check(mark, "mark")

    def children(self, folder):
        parent = {"subjectType": "folder", "optionalSubjectId": folder}
        asked = {"relationshipFilter": {"resourceType": "folder", "optionalRelation": "parent", "optionalSubjectFilter": parent}}
        found = self.post("/v1/relationships/read", {**asked, **self.consistency(True)}).splitlines()
        return [json.loads(line)["result"]["relationship"]["resource"]["objectId"] for line in found]

    def written(self):
        return self.changes

    def write(self, *changes):
        """Carries changes out in one transaction, and keeps the token of it (ZedToken)."""
        updates = []
        for operation, folder, relation, kind, name in changes:
            relationship = {"resource": object_of("folder", folder), "relation": relation, "subject": {"object": object_of(kind, name)}}
            updates.append({"operation": f"OPERATION_{operation}", "relationship": relationship})
        self.token = json.loads(self.post("/v1/relationships/write", {"updates": updates}))["writtenAt"]
        self.changes += len(updates)

    def consistency(self, fresh):
        return {"consistency": {"atLeastAsFresh": self.token}} if fresh else {}

    def headers(self):
        return {"authorization": f"Bearer {KEY}"}

    def post(self, path, body):
        status, text = self.ask("POST", path, body, self.headers())
        if "depth" in text and "exceeded" in text:
            raise Refused(text)
        if status != 200 or '"error":' in text:
            raise RuntimeError(f"{path}: {status} {text[:1000]}")
        return text


def object_of(kind, name):
    return {"objectType": kind, "objectId": name}


def user(name):
    return {"object": object_of("user", name)}
