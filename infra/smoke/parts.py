"""The parts of a run. Each has nodes of its own, and ends with its first failure."""

import random
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from api import in_path
from trouble import Differs
from world import NAME, shown, split

TREE = 60
# A name that a key has to escape, and siblings of one name.
SEGMENTS = {4: "50% # $", 5: "twin", 6: "twin", 7: "part"}
CREATES = 100
# The ids of a run follow from its prefix alone, so that --clean needs nothing else. Those of the API have what a path must escape.
TABLE_IDS = [f"t{number:02}" for number in range(TREE)] + ["t-eq"]
ODD = "a-ä b/c?d#e%f"
API_IDS = ["a-root", "a-docs", ODD, "a-img", "a-old", "a-old-1", "a-old-2", "a-old-3", "a-bin", "a-bin-1", "a-bin-2", "a-bin-3", "a-eq"]
LAG_IDS = ["l-root"] + [f"l{number:03}" for number in range(CREATES)]


def over_the_table(run, world):
    table, id = run.table, lambda number: f"{run.prefix}t{number:02}"

    def node(key, parent=None, **attributes):
        item = {name: value if isinstance(value, dict) else {"S": value} for name, value in attributes.items()}
        world.nodes[key] = item | ({world.parent: {"S": parent}} if parent else {})

    def move(key, parent):
        table.set((key, world.node), world.parent, {"S": parent})

    with run.step(f"{TREE} nodes, put in any order, get their rows"):
        for number in range(TREE):
            segment = {world.segment: SEGMENTS[number]} if number in SEGMENTS else {}
            node(id(number), id((number - 1) // 3) if number else None, name=f"{NAME}node {number}", size={"N": str(number)}, **segment)
        items = [((key, world.node), item) for key, item in world.nodes.items()]
        random.shuffle(items)
        table.write(items)
        run.settle(world, run.first_patience)
    with run.step("a node gets another name and another segment"):
        for name, value in (("name", f"{NAME}node 1, renamed"), (world.segment, "renamed")):
            world.nodes[id(1)][name] = {"S": value}
            table.set((id(1), world.node), name, {"S": value})
        run.settle(world)
    with run.step(f"a subtree of {len(world.below(id(1))) + 1} nodes moves"):
        world.nodes[id(1)][world.parent] = {"S": id(11)}
        move(id(1), id(11))
        run.settle(world)
    with run.step("two nested subtrees move at once"):
        moves = [(id(2), id(12)), (id(7), id(10))]
        for key, parent in moves:
            world.nodes[key][world.parent] = {"S": parent}
        list(table.pool.map(lambda each: move(*each), moves))
        run.settle(world)
    orders = [name.removesuffix(":caseless") for name in split(world.settings["OrderAttribute"])]
    for order in orders[:1]:
        with run.step("a root and a node get other places among their siblings"):
            for number in (0, 3):
                world.nodes[id(number)][order] = {"S": f"{NAME}place {number}"}
                table.set((id(number), world.node), order, world.nodes[id(number)][order])
            run.settle(world)
    own = (world.parent, world.segment, *orders)
    if links := [name for name in split(world.settings["LinkAttributes"]) if name not in own]:
        with run.step("a node names others, one of which isn't there, and then only that one"):
            for targets in ([id(20), id(21), f"{run.prefix}t-nobody"], [f"{run.prefix}t-nobody"]):
                world.nodes[id(4)][links[0]] = {"L": [{"S": target} for target in targets]}
                table.set((id(4), world.node), links[0], world.nodes[id(4)][links[0]])
                run.settle(world)
    with run.step("a leaf is deleted"):
        world.nodes.pop(id(TREE - 1))
        table.delete((id(TREE - 1), world.node))
        run.settle(world)
    with run.step("an inner node is deleted, its children are orphans, and it is put again"):
        item = world.nodes.pop(id(8))
        table.delete((id(8), world.node))
        run.settle(world)
        world.nodes[id(8)] = item
        table.put((id(8), world.node), item)
        run.settle(world)
    with run.step("revisions have copies of the newest"):
        key = run.prefix + "t-eq"
        for sort_key, auditor in (("v001_Audit", "Rick"), ("v002_Audit", "Padma"), ("v001_Audit#wheel-2", "Ada")):
            world.revisions[key, sort_key] = {"auditor": {"S": auditor}}
            table.put((key, sort_key), {"auditor": {"S": auditor}})
        run.settle(world)
        for sort_key in ("v002_Audit", "v001_Audit#wheel-2"):
            world.revisions.pop((key, sort_key))
            table.delete((key, sort_key))
        run.settle(world)


def over_the_api(run, world):
    ask, settle = run.api.ask, lambda: run.settle(world)
    root, docs, odd, image, old, bin, eq = (
        run.prefix + name for name in ("a-root", "a-docs", ODD, "a-img", "a-old", "a-bin", "a-eq"))
    wait = {"prefer": "wait=10"}

    def body(id, parent, segment=None, **attributes):
        """A node as the API takes it, which the world has from now on."""
        item = {name: {"S": value} for name, value in attributes.items()}
        item |= {world.parent: {"S": parent}} if parent else {}
        world.nodes[id] = item | ({world.segment: {"S": segment}} if segment else {})
        return {"id": id, "parent": parent, "attributes": attributes} | ({"segment": segment} if segment else {})

    with run.step("the API creates nodes"):
        for node in ((root, None), (docs, root), (odd, docs, "a segment/50%"), (image, root)):
            created, headers = ask("POST", "/nodes", body(*node, name=NAME + node[0]), (201, 202), **wait)
            same("id", node[0], created["id"])
            same("location", f"/nodes/{in_path(node[0])}", headers["location"])
        operations = [{"put": body(run.prefix + name, run.prefix + parent, name=NAME + name)} for name, parent in (
            ("a-old", "a-docs"), ("a-old-1", "a-old"), ("a-old-2", "a-old"), ("a-old-3", "a-old-1"),
            ("a-bin", "a-root"), ("a-bin-1", "a-bin"), ("a-bin-2", "a-bin"), ("a-bin-3", "a-bin-1"))]
        answer, _ = ask("POST", "/batch", {"operations": operations}, (200,), **wait)
        same("the batch's refusals", [], [result for result in answer["results"] if result["status"] not in (201, 202)])
        settle()
    with run.step("the API answers 409 to an id that is taken, and 422 to a parent that isn't there"):
        ask("POST", "/nodes", {"id": image, "parent": root}, (409,))
        ask("PATCH", f"/nodes/{in_path(image)}", {"parent": run.prefix + "a-nobody"}, (422,))
    with run.step("If-Match protects a change"):
        _, headers = ask("GET", f"/nodes/{in_path(odd)}", status=(200,))
        tag = headers["etag"]
        renamed = NAME + "renamed"
        world.nodes[odd]["name"] = {"S": renamed}
        ask("PATCH", f"/nodes/{in_path(odd)}", {"attributes": {"name": renamed}}, (200,), if_match=tag)
        ask("PATCH", f"/nodes/{in_path(odd)}", {"attributes": {"name": NAME + "lost"}}, (412,), if_match=tag)
        settle()
    with run.step("the API moves a subtree, and refuses a cycle"):
        world.nodes[docs][world.parent] = {"S": image}
        ask("PATCH", f"/nodes/{in_path(docs)}", {"parent": image}, (200, 202), **wait)
        ask("PATCH", f"/nodes/{in_path(image)}", {"parent": odd}, (409,))
        settle()
    with run.step("the API appends revisions"):
        for version, auditor in ((1, "Rick"), (2, "Padma")):
            revision = {"attributes": {"auditor": auditor}}
            answer, _ = ask("POST", f"/nodes/{in_path(eq)}/revisions/Audit~23wheel", revision, (201, 202), **wait)
            same("version", version, answer["version"])
            world.revisions[eq, f"v{version:03}_Audit#wheel"] = {"auditor": {"S": auditor}}
        settle()
    with run.step("the API reads what the table holds"):
        read(run, world, root, odd, eq)
    for node, children in ((old, "adopt"), (bin, "delete")):
        with run.step(f"the API deletes a node, children={children}"):
            ask("DELETE", f"/nodes/{in_path(node)}", status=(409,))
            # The world first: what is interrupted here is gone or going.
            gone = [node, *(world.below(node) if children == "delete" else [])]
            heir = world.nodes[node][world.parent]
            for child in world.children(node):
                world.nodes[child][world.parent] = heir
            for each in gone:
                world.nodes.pop(each)
            world.removed.update(gone)
            _, headers = ask("DELETE", f"/nodes/{in_path(node)}?children={children}", status=(202,))
            until = time.monotonic() + run.patience
            while (state := ask("GET", headers["location"], status=(200,))[0]["status"]) != "done":
                if time.monotonic() > until:
                    raise Differs(f"{headers['location']} is {state} after {run.patience:.0f} s")
                time.sleep(0.3)
            settle()
    with run.step("the API reads what is left"):
        ask("GET", f"/nodes/{in_path(old)}", status=(404,))
        read(run, world, root, odd, eq)


def read(run, world, root, odd, eq):
    """Compares what the API reads of this tree with what it must be."""

    def get(path, *more):
        return run.api.ask("GET", path + "?" + "&".join(["consistent=true", *more]), status=(200,))[0]

    def named(id):
        return world.copies({"name": world.nodes[id]["name"]}).get("name", {}).get("S")

    def tree(id):
        # The root is read as a record, what is below it as rows.
        name = world.nodes[id]["name"]["S"] if id == root else named(id)
        return {"id": id, "name": name, "children": [*map(tree, world.children(id))]}

    def pruned(node):
        children = sorted(map(pruned, node["children"]), key=lambda child: child["id"])
        return {"id": node["id"], "name": node["attributes"].get("name"), "children": children}

    node = get(f"/nodes/{in_path(odd)}")
    found = node["id"], node["parent"], node["attributes"].get("name")
    same("the node", (odd, world.parent_of(odd), world.nodes[odd]["name"]["S"]), found)
    same("the tree", tree(root), pruned(get(f"/nodes/{in_path(root)}/tree")))
    same("the count", len(world.below(root)), get(f"/nodes/{in_path(root)}/count")["count"])
    same("the children", world.children(root), [child["id"] for child in get(f"/nodes/{in_path(root)}/children")["items"]])
    ancestors = [(each["id"], each["depth"]) for each in get(f"/nodes/{in_path(odd)}/ancestors")["items"]]
    same("the ancestors", [(id, depth) for depth, id in enumerate(world.ancestors(odd), 1)], ancestors)
    if world.settings["PathRows"] == "on":
        segments = [f"path={urllib.parse.quote(segment, safe='-_.~')}" for segment in world.path(odd)]
        for found in (
            get(f"/paths/{in_path(root)}", *segments),
            get("/".join(["/paths", in_path(root), *map(in_path, world.path(odd))])),
        ):
            same("the path", [(odd, world.path(odd))], [(each["id"], each["path"]) for each in found["items"]])
    latest = get(f"/nodes/{in_path(eq)}/latest/Audit~23wheel")
    same("the latest", ("Audit#wheel", 2), (latest["topic"], latest["version"]))
    history = get(f"/nodes/{in_path(eq)}/revisions/Audit~23wheel", "order=desc")["items"]
    same("the history", [(2, "Padma"), (1, "Rick")], [(each["version"], each["attributes"]["auditor"]) for each in history])


def read_only(run):
    """What a run that writes nothing can see. Of an API that wants a token, and gets none, it sees that it is closed."""
    if not run.api:
        raise Differs("the API isn't tried: give --api URL. Without the API a run that writes nothing can see nothing")
    closed = run.api.authorization == "JWT" and not run.api.token
    with run.step("the API refuses who has no token" if closed else "the API answers"):
        run.api.ask("GET", "/health", status=(401,) if closed else (200,))
    if closed:
        print("    nothing is read: give --token TOKEN")
        return
    with run.step("the API reads the table"):
        answer, _ = run.api.ask("GET", "/roots?limit=1", status=(200, 403) if run.target.has_tenants else (200,))
    if "items" not in answer:
        print(f"    nothing is read: {answer.get('detail', answer)}")
        return
    with run.step("the auditor's proof"):
        audit, _ = run.api.ask("GET", "/health/audit", status=(200, 404))
    if "age_seconds" not in audit:
        print("    no auditor has run yet")
    elif "right_as_of" in audit:
        print(f"    what stood in the table {audit['age_seconds'] / 3600:.1f} hours ago has been compared since")
    else:
        print("    no pass over the table has ended yet")


def lag(run, world):
    table, root = run.table, world.ids[0]

    def create(id):
        """The milliseconds from the put's answer to the first sight of the row."""
        # Without a pause each create would meet the stream's poller at the same point of its period.
        time.sleep(random.uniform(0, 0.25))
        table.put((id, world.node), world.nodes[id])
        began = time.monotonic()
        while not table.has((root, f"{world.node}#0001#{id}")):
            if run.stopping or time.monotonic() - began > run.patience:
                raise Differs(f"missing {shown((root, f'{world.node}#0001#{id}'))} after {time.monotonic() - began:.0f} s")
            time.sleep(0.005)
        return (time.monotonic() - began) * 1000

    with run.step(f"the lag of {CREATES} single creates, four at a time"):
        world.nodes[root] = {"name": {"S": f"{NAME}lag"}}
        table.put((root, world.node), world.nodes[root])
        run.settle(world)
        for id in world.ids[1:]:
            world.nodes[id] = {world.parent: {"S": root}, "name": {"S": NAME + id}}
        with ThreadPoolExecutor(4) as four:
            try:
                lags = list(four.map(create, world.ids[1:]))
            except BaseException:
                run.stopping = True
                four.shutdown(wait=False, cancel_futures=True)
                raise
    print(f"    from a put's answer to the first consistent sight of its row: {percentiles(lags)}")


def same(words, wanted, found):
    if wanted != found:
        raise Differs(f"{words}: wanted {wanted!r}, found {found!r}")


def percentiles(values):
    values = sorted(values)
    at = {f"p{share}": values[max(0, -(-len(values) * share // 100) - 1)] for share in (50, 90, 99)} | {"max": values[-1]}
    return ", ".join(f"{name} {value:.0f} ms" for name, value in at.items())
