"""OpenFGA: a relation `parent` between folders, by which `viewer` goes down, as its guide to parents and children has it."""

import json

from peer import ROOT, AuthorizationService, Refused, chunks, free_port

# Most tuples of a request, by default.
WRITES_MAX = 100
# Most tuples of a page.
PAGE_MAX = 100

THIS = {"this": {}}
FROM_PARENT = {"tupleToUserset": {"tupleset": {"relation": "parent"}, "computedUserset": {"relation": "viewer"}}}
MODEL = {
    "schema_version": "1.1",
    "type_definitions": [
        {"type": "user"},
        {
            "type": "folder",
            "relations": {"parent": THIS, "viewer": {"union": {"child": [THIS, FROM_PARENT]}}},
            "metadata": {
                "relations": {
                    "parent": {"directly_related_user_types": [{"type": "folder"}]},
                    "viewer": {"directly_related_user_types": [{"type": "user"}]},
                }
            },
        },
    ],
}


class OpenFga(AuthorizationService):
    name = "OpenFGA"
    version = "1.22.1"
    lifted = {"depth": "--resolve-node-limit=200", "list": "--listObjects-max-results=0"}
    # A list of 1,003 is asked for.
    counted = (lifted["list"],)
    written_things = ("tuple", "tuples")
    fresh = "with `HIGHER_CONSISTENCY`"

    def start(self, options=()):
        http, grpc = free_port(), free_port()
        addresses = (f"--http-addr=127.0.0.1:{http}", f"--grpc-addr=127.0.0.1:{grpc}")
        off = ("--playground-enabled=false", "--metrics-enabled=false")
        self.run([ROOT / f".cache/peers/openfga-{self.version}/openfga", "run", *addresses, *off, *options])
        self.connect(http)
        self.wait_until(lambda: self.answers("GET", "/healthz"))
        self.store = self.post("/stores", {"name": "peers"})["id"]
        self.post(f"/stores/{self.store}/authorization-models", MODEL)
        self.tuples = self.requests = 0

    def load(self, folders):
        for some in chunks([(f"folder:{parent}", "parent", folder) for folder, parent in folders if parent], WRITES_MAX):
            self.write(writes=some)

    def grant(self, folder, principal):
        self.write(writes=[(f"user:{principal}", "viewer", folder)])

    def move(self, folder, old, new):
        self.write(writes=[(f"folder:{new}", "parent", folder)], deletes=[(f"folder:{old}", "parent", folder)])

    def check(self, folder, principal, fresh=False):
        body = {"tuple_key": key(f"user:{principal}", "viewer", folder), **consistency(fresh)}
        return self.post(f"/stores/{self.store}/check", body).get("allowed", False)

    def list(self, principal, fresh=False):
        answer = self.post(f"/stores/{self.store}/list-objects", {**self.viewed_by(principal), **consistency(fresh)})
        if answer.keys() != {"objects"}:
            raise RuntimeError(f"ListObjects says more than it did: {answer.keys()}")
        return [name.removeprefix("folder:") for name in answer["objects"]]

    def list_streamed(self, principal):
        """The same from StreamedListObjects, which has no limit but its deadline."""
        _, text = self.ask("POST", f"/stores/{self.store}/streamed-list-objects", self.viewed_by(principal))
        return [json.loads(line)["result"]["object"].removeprefix("folder:") for line in text.splitlines()]

    ways = {"ListObjects": list, "StreamedListObjects": list_streamed}

    def children(self, folder):
        """Read, which has pages of 100 at most. (ListObjects would stop at 1,000.)"""
        found, continued = [], {}
        below = {"user": f"folder:{folder}", "relation": "parent", "object": "folder:"}
        while True:
            page = self.post(f"/stores/{self.store}/read", {"tuple_key": below, "page_size": PAGE_MAX, **continued})
            found += [one["key"]["object"].removeprefix("folder:") for one in page["tuples"]]
            if not page["continuation_token"]:
                return found
            continued = {"continuation_token": page["continuation_token"]}

    def written(self):
        return self.tuples

    def viewed_by(self, principal):
        return {"type": "folder", "relation": "viewer", "user": f"user:{principal}"}

    def write(self, **tuples):
        """Writes and deletes in one transaction."""
        self.post(f"/stores/{self.store}/write", {kind: {"tuple_keys": [key(*one) for one in some]} for kind, some in tuples.items()})
        self.tuples += sum(map(len, tuples.values()))

    def post(self, path, body):
        status, text = self.ask("POST", path, body)
        answer = json.loads(text)
        if answer.get("code") == "authorization_model_resolution_too_complex":
            raise Refused(text)
        if status not in (200, 201):
            raise RuntimeError(f"{path}: {status} {text}")
        return answer


def key(user, relation, folder):
    return {"user": user, "relation": relation, "object": f"folder:{folder}"}


def consistency(fresh):
    return {"consistency": "HIGHER_CONSISTENCY"} if fresh else {}
