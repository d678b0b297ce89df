"""The client against a running API, whose URL is SAPWOOD_API and whose table is empty at first; and against a proxy before it that loses
answers."""

import asyncio
import base64
import fcntl
import json
import os
import pickle
import re
import resource
import shlex
import socket
import subprocess
import threading
import time
import unittest
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sapwood_client import (
    Answer, AsyncSapwood, InvalidKey, NoAnswer, OutcomeUnknown, Problem, Request, Response, Sapwood, Session, TookTooLong, Transport, in_path, problem_of,
    problems, values,
)
from sapwood_client.models import PatchNode
from sapwood_client.operations import OPERATIONS, AsyncOperations
from sapwood_client.transport import Connections

ROOT = Path(__file__).resolve().parents[3]
URL = os.environ.get("SAPWOOD_API", "")
HOSTILE = ["ceo@example.org", "ORDER#98765", "a/b é", "x,y#1", ".", "..", "%41", "~40", "?a=b&c", "😀", "\u0000\n", "v0_", "e\u0301"]
# The calls that any test has made.
called: set[str] = set()


class Recording(Sapwood):
    def _call(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Answer[Any]:
        called.add(name)
        return super()._call(name, path, parameters, body)


def prefixed() -> str:
    """A beginning of ids that no other test has."""
    return uuid.uuid4().hex[:8]


@unittest.skipUnless(URL, "SAPWOOD_API says where the API is")
class Api(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        self.api = Recording(URL)
        self.addCleanup(self.api.close)

    def test_a_the_story_of_a_tree(self) -> None:
        """It comes first, and leaves nothing out."""
        api = self.api
        root = api.create_node({"id": "company", "attributes": {"owner": "ada", "viewers": {"eve", "bob"}}}, wait=5)
        self.assertEqual((root.status, root.body["id"], root.location), (201, "company", "/nodes/company"))
        for id in HOSTILE:
            made = api.create_node({"id": id, "parent": "company", "attributes": {"name": id, "size": 2}}, wait=5)
            self.assertEqual((made.body["id"], made.body.get("parent")), (id, "company"))
            self.assertEqual(made.location, f"/nodes/{in_path(id)}")
            self.assertEqual(api.get_node(id).body["attributes"]["name"], id)
        self.assertEqual([child["id"] for child in api.list_children("company", limit=2)], sorted(HOSTILE))
        self.assertEqual(len(list(api.list_children("company", limit=3).pages())), -(-len(HOSTILE) // 3))
        several = api.get_nodes([*HOSTILE, "nobody"]).first().body
        self.assertEqual(([node["id"] for node in several["items"]], several["missing"]), (HOSTILE, ["nobody"]))
        self.assertEqual(api.count("company"), len(HOSTILE))
        self.assertEqual(api.count("company", min_depth=2), 0)
        self.assertEqual(api.get_totals("company", consistent=True).body["sums"], {"size": 2 * len(HOSTILE)})

        # Two of them move together, and whoever has read the old state is told.
        order, odd = "ORDER#98765", "a/b é"
        etag = api.get_node(odd).etag
        assert etag
        moved = api.patch_node(odd, {"parent": order, "attributes": {"name": None}}, if_match=etag, wait=10, wait_below=True)
        self.assertEqual((moved.status, moved.body["attributes"]), (200, {"size": 2}))
        with self.assertRaises(problems.PreconditionFailed):
            api.patch_node(odd, {"parent": "company"}, if_match=etag)
        with self.assertRaises(problems.Cycle) as cycle:
            api.patch_node(order, {"parent": odd})
        self.assertEqual((cycle.exception.status, cycle.exception.slug, cycle.exception.field), (409, "cycle", "parent"))
        api.placed(order, below=True)
        api.placed(odd)
        self.assertEqual([above["id"] for above in api.list_ancestors(odd)], [order, "company"])
        self.assertEqual([(node["id"], node["depth"]) for node in api.list_descendants("company", min_depth=2)], [(odd, 2)])
        self.assertIn(order, [child["id"] for child in api.get_tree("company", max_depth=1).body["children"]])
        self.assertEqual([found["id"] for found in api.list_paths("company", path=[order, odd])], [odd])
        self.assertIn("company", [found["id"] for found in api.list_roots(order="asc")])
        inherited = api.get_inherited(odd, "owner").body["nearest"]["owner"]
        self.assertEqual((inherited["value"], inherited["from"], inherited["levels_up"]), ("ada", "company", 2))
        self.assertTrue(api.get_granted(odd, "viewers", ["bob"]).body["allowed"])

        # Values without loss, and siblings in an order by hand.
        written = {
            "set": {"b", "a"}, "numbers": {1, Decimal("2.5")}, "bytes": b"\x00\xff", "long": Decimal("12345678901234567890123456789012345678"),
            "map": {"$set": ["no set"]}, "list": [None, True, {"deep": Decimal("0.1")}], "huge": Decimal("1E125"), "text": "é\u0000",
        }
        api.put_node("values", {"parent": "company", "attributes": written}, wait=5)
        self.assertEqual(api.get_node("values").body["attributes"], written)
        api.batch({"operations": [{"put": {"id": id, "parent": "values", "position": "last"}} for id in ("one", "two", "three")]}, wait=5)
        api.patch_node("three", {"position": {"before": "two"}}, wait=5)
        self.assertEqual([child["id"] for child in api.list_children("values", order="asc")], ["one", "three", "two"])

        # Revisions: appended, with their node, amended, removed.
        audit = "Audit#wheel/2"
        for result in ("passed", "failed"):
            api.append_revision(odd, audit, {"attributes": {"result": result}}, wait=5)
        saved = api.patch_node(odd, {"revision": {"topic": "Text", "attributes": {"text": "1"}}}, wait=5)
        self.assertEqual(saved.body["revision"]["version"], 1)
        self.assertEqual(api.get_latest(odd, audit).body["version"], 2)
        self.assertEqual([latest["topic"] for latest in api.list_latest(odd)], [audit, "Text"])
        self.assertEqual([one["version"] for one in api.list_topic(odd, audit, order="desc", limit=1)], [2, 1])
        api.amend_revision(odd, audit, 1, {"attributes": {"result": "unclear"}})
        self.assertEqual(api.get_revision(odd, audit, 1).body["attributes"], {"result": "unclear"})
        self.assertEqual(api.remove_revision(odd, audit, 2).status, 204)
        self.assertEqual(len(list(api.list_revisions(odd))), 2)

        # Links, a copy, the trash, and the end.
        api.create_node({"id": "mouse order", "parent": order, "attributes": {"product": {"P#17", "P#4"}}}, wait=5)
        self.assertEqual([link["id"] for link in api.list_links("P#17", "product", ancestors=True)], ["mouse order"])
        copy = api.copy_node(order, {"ids": "copy", "segment": "a copy"})
        api.done(copy)
        self.assertEqual(api.get_operation(copy.body["id"]).body["copied"], 3)
        api.placed("copy", below=True)
        self.assertEqual(api.count("copy"), 2)
        api.trash_node("copy", wait=5, wait_below=True)
        self.assertEqual([node["id"] for node in api.list_trash()], ["copy"])
        api.restore_node("copy", wait=5, wait_below=True)
        with self.assertRaises(problems.HasChildren):
            api.delete_node("copy")
        begun = api.delete_node("copy", children="delete")
        self.assertEqual(begun.status, 202)
        api.done(begun)
        self.assertIn(begun.body["id"], [one["id"] for one in api.list_operations(status="done", limit=1)])
        api.done(api.delete_node("mouse order"))
        with self.assertRaises(problems.NotFound):
            api.get_node("mouse order")
        self.assertEqual(api.get_propagation(odd, below=True).body["below"]["up_to_date"], True)

        # The feed has the tree first, and says what changed lately.
        listed = next(iter(api.follow("company")))["changes"]
        self.assertLessEqual({*HOSTILE, "values", "three"}, {change["id"] for change in listed})
        self.assertIn(HOSTILE[0], [change["id"] for change in api.list_recent("company")])
        self.assertTrue(api.get_index().body and api.get_health().body["status"] == "ok")
        with self.assertRaises(problems.NotFound):
            api.get_audit()
        self.assertEqual(called, set(OPERATIONS), "a call that no test makes")

    def test_answers_say_what_headers_said(self) -> None:
        id = prefixed()
        made = self.api.create_node({"id": id}, minimal=True, idempotency_key=f'"{id}\\')
        self.assertEqual((made.status, made.body, made.replayed), (204, None, False))
        again = self.api.create_node({"id": id}, minimal=True, idempotency_key=f'"{id}\\')
        self.assertTrue(again.replayed and again.etag == made.etag and made.written)
        read = self.api.get_node(id, if_none_match=str(made.etag))
        self.assertEqual((read.status, read.body), (304, None))
        with self.assertRaises(problems.IdempotencyMismatch):
            self.api.create_node({"id": f"{id}2"}, idempotency_key=f'"{id}\\')
        with self.assertRaises(problems.Exists):
            self.api.create_node({"id": id})
        with self.assertRaises(problems.BadParameter) as refused:
            list(self.api.list_children(id, limit=0))
        self.assertEqual(refused.exception.field, "limit")

    def test_names_are_taken_once_and_batches_fail_in_part(self) -> None:
        id = prefixed()
        self.api.put_node(id, {"parent": None, "segment": f"Folder {id}"})
        with self.assertRaises(problems.NameTaken) as taken:
            self.api.create_node({"segment": f"FOLDER {id}"})
        self.assertEqual((taken.exception.node, taken.exception.location), (id, f"/nodes/{id}"))
        results = self.api.batch({"operations": [{"delete": {"id": f"{id} nobody"}}, {"put": {"id": f"{id} b", "parent": id}}]}).body["results"]
        self.assertEqual([result["status"] for result in results], [404, 201])
        self.assertIsInstance(problem_of(results[0]["problem"]), problems.NotFound)

    def test_a_session_reads_what_it_has_written(self) -> None:
        """More writes than a read takes tokens, each read at once, and in another session."""
        id, session = prefixed(), self.api.session()
        session.create_node({"id": id})
        for position in range(25):
            session.create_node({"id": f"{id}-{position:02}", "parent": id})
            if position % 6 == 0:
                self.assertEqual(len(list(session.list_children(id, limit=5))), position + 1)
                self.assertEqual(session.written, [])
        session.batch({"operations": [{"put": {"id": f"{id}-b{position:02}", "parent": id}} for position in range(25)]})
        session.patch_node(f"{id}-00", {"parent": f"{id}-01", "revision": {"topic": "T", "attributes": {}}})
        self.assertEqual(len(session.written), 27)
        other = self.api.session()
        other.must_show(*session.written)
        for reader in (session, other):
            self.assertEqual(reader.count(id), 50)
            self.assertEqual(reader.written, [])
            self.assertEqual(reader.get_latest(f"{id}-00", "T").body["version"], 1)
            self.assertEqual([node["id"] for node in reader.list_children(f"{id}-01")], [f"{id}-00"])
        session.done(session.delete_node(id, children="delete"))
        with self.assertRaises(problems.NotFound):
            list(session.list_children(id))

    def test_a_session_writes_to_what_it_lists(self) -> None:
        id, session = prefixed(), self.api.session()
        session.batch({"operations": [{"put": {"id": f"{id}{end}", "parent": id if end else None}} for end in ("", "-0", "-1", "-2", "-3")]})
        for child in session.list_children(id, limit=1):
            session.patch_node(child["id"], {"attributes": {"seen": True}})
        self.assertEqual([child["attributes"] for child in session.list_children(id)], [{"seen": True}] * 4)

    def test_threads_may_share_a_session(self) -> None:
        id, session = prefixed(), self.api.session()
        session.create_node({"id": id})

        def story(number: int) -> bool:
            made = [f"{id}-{number}-{position}" for position in range(5)]
            return all(session.create_node({"id": one, "parent": id}) and one in {child["id"] for child in session.list_children(id)} for one in made)

        with ThreadPoolExecutor(6) as threads:
            self.assertEqual(list(threads.map(story, range(6))), [True] * 6)

    def test_a_session_deletes_no_parent_of_what_it_has_created(self) -> None:
        session = self.api.session()
        for _ in range(20):
            parent = session.create_node({}).body["id"]
            child = session.create_node({"parent": parent}).body["id"]
            with self.assertRaises(problems.HasChildren):
                session.delete_node(parent)
            session.delete_node(child)
            self.assertEqual(session.delete_node(parent).status, 204)

    def test_what_a_session_has_shown_costs_nothing_more(self) -> None:
        """Counted between an API of its own and the table."""
        with Table() as table, table.api() as url:
            session, id = Sapwood(url).session(), prefixed()
            self.addCleanup(session.close)
            session.create_node({"id": id})
            for position in range(10):
                session.create_node({"id": f"{id}-{position}", "parent": id})
            for cost in ("tokens", "none"):
                table.asked.clear()
                self.assertEqual(len(list(session.list_children(id))), 10)
                self.assertEqual(len(table.asked) == 1, cost == "none", table.asked)
            self.assertEqual(table.asked, [("Query", 1)])

    def test_what_a_write_has_begun_is_waited_for(self) -> None:
        id = prefixed()
        self.api.done(self.api.create_node({"id": id}))
        for position in range(6):
            self.api.create_node({"id": f"{id}-{position}", "parent": f"{id}-{position - 1}" if position else id}, wait=5)
        self.api.create_node({"id": f"{id}-to", "parent": id}, wait=5)
        moved = self.api.patch_node(f"{id}-0", {"parent": f"{id}-to"})
        self.assertIn("propagation", str(moved.location))
        self.api.done(moved)
        self.assertEqual([node["depth"] for node in self.api.list_descendants(id, min_depth=2)], [2, 3, 4, 5, 6, 7])
        # What was done at once, and what is named by its operation.
        self.api.done(self.api.delete_node(f"{id}-5"))
        begun = self.api.delete_node(id, children="delete")
        self.api.done(begun.body["id"])
        self.api.done(begun)
        self.assertEqual(self.api.get_operation(begun.body["id"]).body["status"], "done")

    def test_answers_without_a_body_of_batches_and_of_revisions_are_waited_for(self) -> None:
        asked, api = list[str](), self.api
        api._sender.transport = noting(asked)
        id = f"a/b {prefixed()}"
        child, to = f"{id}-0", f"{id}-to"
        api.create_node({"id": id})
        api.create_node({"id": child, "parent": id}, wait=5)
        api.create_node({"id": to, "parent": id}, wait=5)
        api.done(api.patch_node(child, {"parent": to}, minimal=True))
        self.assertIn(f"/nodes/{in_path(child)}/propagation?below=true", asked[-1])
        # No node has this id, so only the token tells of the revision. An answer is 202 if its wait was too short.
        appended = api.append_revision(f"{id} nobody", "Audit", {"attributes": {}})
        api.done(replace(appended, status=202))
        self.assertIn(f"written={appended.written}", asked[-1])
        api.done(api.batch({"operations": [{"patch": {"id": child, "parent": id}}, {"delete": {"id": to}}]}))
        api.done(api.batch({"operations": [{"delete": {"id": id, "children": "delete"}}]}))
        self.assertIn("/operations/", asked[-1])
        with self.assertRaises(problems.NotFound):
            api.get_node(child)

    def test_a_query_is_in_the_url_as_signatures_want_it(self) -> None:
        asked = list[str]()
        self.api._sender.transport = noting(asked)
        self.api.get_nodes(["a b", "a+b"]).first()
        self.assertEqual(asked, [f"{URL}/nodes?ids=a%20b&ids=a%2Bb"])

    def test_a_process_may_have_many_files_and_be_forked(self) -> None:
        connections = Connections()
        self.addCleanup(connections.close)
        health = Request("GET", f"{URL}/health", {}, None)
        self.assertEqual(connections(health, 5).status, 200)
        connection = connections._of_thread.kept.connection
        first = connection.sock
        # A file past those that `select` takes.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        connection.sock = socket.socket(fileno=fcntl.fcntl(first.fileno(), fcntl.F_DUPFD, 1_100))
        first.close()
        self.assertEqual(connections(health, 5).status, 200)
        self.assertIs(connections._of_thread.kept.connection, connection)
        # What a child asks, it asks on a connection of its own.
        child = os.fork()
        if child == 0:
            os._exit(0 if connections._connection("http", urlsplit(URL).netloc, 5) is not connection else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(connections(health, 5).status, 200)
        self.assertIs(connections._of_thread.kept.connection, connection)

    def test_what_takes_too_long_is_told(self) -> None:
        api = Sapwood(URL, transport=lambda request, timeout: self.running(Connections()(request, timeout), request.url))
        with self.assertRaises(TookTooLong):
            api.done(api.delete_node(self.with_a_child(), children="delete"), timeout=0.2)

    def running(self, response: Response, url: str) -> Response:
        """An operation that never ends."""
        if "/operations/" in url:
            return Response(response.status, response.reason, response.headers, response.body.replace(b'"done"', b'"running"'))
        return response

    def with_a_child(self) -> str:
        id = prefixed()
        self.api.create_node({"id": id})
        self.api.create_node({"parent": id}, wait=5)
        return id

    def test_the_asynchronous_client_does_the_same(self) -> None:
        async def story() -> None:
            id, api = prefixed(), AsyncSapwood(Sapwood(URL))
            await api.create_node({"id": id})
            await asyncio.gather(*(api.create_node({"id": f"{id}-{position}", "parent": id}, wait=5) for position in range(8)))
            self.assertEqual([child["id"] async for child in api.list_children(id, limit=3)], [f"{id}-{position}" for position in range(8)])
            self.assertEqual([len(page["items"]) async for page in api.list_children(id, limit=3).pages()], [3, 3, 2])
            self.assertEqual(len((await api.list_children(id, limit=3).first()).body["items"]), 3)
            session = api.session()
            await session.patch_node(f"{id}-0", {"parent": f"{id}-1"})
            self.assertEqual([child["id"] async for child in session.list_children(f"{id}-1")], [f"{id}-0"])
            await api.placed(id, below=True)
            self.assertEqual(await api.count(id), 8)
            with self.assertRaises(problems.Cycle):
                await api.patch_node(id, {"parent": f"{id}-0"})
            await api.done(await api.delete_node(id, children="delete"))
            with self.assertRaises(problems.NotFound):
                await api.get_node(id)

        asyncio.run(story())
        calls = {name for name, method in vars(AsyncOperations).items() if not name.startswith("_")}
        self.assertEqual(calls, set(OPERATIONS))

    def test_threads_may_share_a_client(self) -> None:
        id, failures = prefixed(), list[Exception]()
        self.api.create_node({"id": id})

        def create(number: int) -> None:
            try:
                for position in range(5):
                    self.api.create_node({"id": f"{id}-{number}-{position}", "parent": id}, wait=5)
            except Exception as failure:  # The main thread tells.
                failures.append(failure)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failures, self.api.count(id)), ([], 20))


def noting(asked: list[str]) -> Transport:
    """A transport that notes which URLs it reads."""
    connections = Connections()

    def sent(request: Request, timeout: float) -> Response:
        asked.extend([request.url] if request.method == "GET" else [])
        return connections(request, timeout)

    return sent


class Table(ThreadingHTTPServer):
    """Hands requests to the stack's table (SAPWOOD_DYNAMODB) on, and notes what they ask and how many units they take."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), TableHandler)
        self.asked = list[tuple[str, float]]()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @contextmanager
    def api(self) -> Iterator[str]:
        """An API on this table, whose stream handler is that of the stack. SAPWOOD_DEV is the stack's command."""
        asked = "--http", "127.0.0.1:0", "--no-handler", "--end-with-input", "--json", "--endpoint", f"http://127.0.0.1:{self.server_address[1]}"
        command = [*shlex.split(os.environ["SAPWOOD_DEV"]), *asked]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout
            yield json.loads(process.stdout.readline())["http"]

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class TableHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Table

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        host = urlsplit(os.environ["SAPWOOD_DYNAMODB"]).netloc
        upstream = HTTPConnection(host)
        upstream.request("POST", self.path, body, {name.lower(): value for name, value in self.headers.items()} | {"host": host})
        answer = upstream.getresponse()
        text = answer.read()
        upstream.close()
        consumed = json.loads(text).get("ConsumedCapacity") or {}
        tables = consumed if isinstance(consumed, list) else [consumed]
        self.server.asked.append((self.headers["x-amz-target"].rpartition(".")[2], sum(table.get("CapacityUnits", 0) for table in tables)))
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "date"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


class Proxy(ThreadingHTTPServer):
    """Hands requests on, and does with each answer what the next of its orders says: `lose` closes the connection after the API has answered,
    `drop` before it was asked, a number is answered in the API's place, and `pass` hands the answer on, as for all requests after the last."""

    daemon_threads = True

    def __init__(self, *orders: str | int | tuple[int, Mapping[str, str], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.orders, self.seen = list(orders), list[str]()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def handled(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append(f"{self.command} {self.headers.get('idempotency-key', '-')}")
        order = self.server.orders.pop(0) if self.server.orders else "pass"
        if isinstance(order, int):
            order = order, {"content-type": "application/json"}, b'{"message": "of the gateway"}'
        if isinstance(order, tuple):
            return self.answered(*order)
        if order != "drop":
            upstream = HTTPConnection(urlsplit(URL).netloc)
            upstream.request(self.command, self.path, body, {name.lower(): value for name, value in self.headers.items()} | {"host": urlsplit(URL).netloc})
            answer = upstream.getresponse()
            status, headers, text = answer.status, dict(answer.getheaders()), answer.read()
            upstream.close()
        if order == "pass":
            return self.answered(status, headers, text)
        self.close_connection = True

    def answered(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date"):
                self.send_header(name, value)
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handled

    def log_message(self, *_: Any) -> None:
        pass


def problem(status: int, slug: str, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
    body = {"type": f"urn:sapwood:problem:{slug}", "title": "T", "status": status, "detail": "D"}
    return status, {"content-type": "application/problem+json", **headers}, values.dumps(body)


@unittest.skipUnless(URL, "SAPWOOD_API says where the API is")
class LostAnswers(unittest.TestCase):
    def setUp(self) -> None:
        self.node, self.direct = prefixed(), Sapwood(URL)
        self.addCleanup(self.direct.close)
        self.direct.create_node({"id": self.node})

    def through(self, proxy: Proxy, **options: Any) -> Sapwood:
        api = Sapwood(proxy.url, **options)
        api._sender.sleep = lambda seconds: time.sleep(seconds / 20)
        self.addCleanup(api.close)
        return api

    def test_what_is_named_is_done_once(self) -> None:
        calls: list[tuple[Callable[[Sapwood], Answer[Any]], int]] = [
            (lambda api: api.create_node({"parent": self.node}, wait=5), 201),
            (lambda api: api.append_revision(self.node, "Audit", {"attributes": {}}, wait=5), 201),
            (lambda api: api.put_node(self.node, {"parent": None, "revision": {"topic": "Text", "attributes": {}}}, wait=5), 200),
            (lambda api: api.batch({"operations": [{"put": {"parent": self.node}}]}, wait=5), 200),
            (lambda api: api.delete_node(next(iter(api.list_children(self.node, consistent=True)))["id"], wait=5), 204),
        ]
        for lost in ("lose", "drop", 503, 500, problem(503, "outcome-unknown"), problem(500, "internal", **{"retry-after": "0"})):
            for call, wanted in calls:
                with self.subTest(lost=lost, wanted=wanted), Proxy() as proxy:
                    api, before = self.through(proxy), self.state()
                    self.direct.placed(self.node, below=True)
                    # The last one looks for what it deletes.
                    proxy.orders += ["pass", lost, lost] if wanted == 204 else [lost, lost]
                    answer = call(api)
                    writes = [seen for seen in proxy.seen if not seen.startswith("GET")]
                    self.assertEqual((answer.status, len(writes), len(set(writes))), (wanted, 3, 1))
                    self.assertEqual(answer.replayed, lost == "lose")
                    change = {201: 1, 200: 1, 204: -1}[wanted]
                    self.assertEqual(self.state() - before, change)

    def state(self) -> int:
        """How many children and revisions there are."""
        return len(list(self.direct.list_children(self.node, consistent=True))) + len(list(self.direct.list_revisions(self.node, consistent=True)))

    def test_what_has_no_name_isnt_done_again(self) -> None:
        for lost in ("lose", "drop", 503, problem(503, "outcome-unknown", location=f"/nodes/{self.node}")):
            with self.subTest(lost=lost), Proxy(lost) as proxy, self.assertRaises(OutcomeUnknown) as unknown:
                self.through(proxy, idempotency_keys=False).append_revision(self.node, "Log", {"attributes": {}})
            self.assertEqual(len(proxy.seen), 1)
            self.assertIn(self.node, str(unknown.exception.location))

    def test_a_put_is_done_again_and_tells_if_its_condition_is_gone(self) -> None:
        with Proxy("lose") as proxy:
            answer = self.through(proxy).put_node(self.node, {"parent": None, "attributes": {"a": 1}})
            self.assertEqual((answer.body["attributes"], proxy.seen), ({"a": 1}, ["PUT -", "PUT -"]))
        change: PatchNode = {"attributes": {"a": 2}}
        with Proxy("lose") as proxy, self.assertRaises(OutcomeUnknown):
            self.through(proxy).patch_node(self.node, change, if_match=str(answer.etag))
        with Proxy("drop") as proxy:
            read = self.direct.get_node(self.node)
            self.assertEqual(self.through(proxy).patch_node(self.node, change, if_match=str(read.etag)).status, 200)
        # What the API itself doesn't know isn't sent again blindly.
        with Proxy(problem(503, "outcome-unknown")) as proxy, self.assertRaises(OutcomeUnknown):
            self.through(proxy).patch_node(self.node, change)
        self.assertEqual(len(proxy.seen), 1)

    def test_what_was_refused_for_a_moment_is_asked_again(self) -> None:
        refusals = (429, problem(503, "unavailable", **{"retry-after": "0"}), problem(409, "in-progress", **{"retry-after": "0"}))
        for refusal in refusals:
            for keys in (True, False):
                with self.subTest(refusal=refusal, keys=keys), Proxy(refusal, refusal) as proxy:
                    made = self.through(proxy, idempotency_keys=keys).create_node({"parent": self.node})
                    self.assertEqual((made.status, len(proxy.seen)), (201, 3))

    def test_it_gives_up(self) -> None:
        def asks(error: type[Exception], attempts: int, *orders: Any, call: Callable[[Sapwood], Any] | None = None) -> None:
            with self.subTest(orders=orders), Proxy(*orders) as proxy, self.assertRaises(error):
                (call or (lambda api: api.get_node(self.node)))(self.through(proxy, attempts=attempts))
            self.assertEqual(len(proxy.seen), attempts)

        asks(NoAnswer, 3, *["drop"] * 9)
        asks(problems.Throttled, 2, *[429] * 9)
        asks(Problem, 2, *[503] * 9)
        asks(OutcomeUnknown, 2, *["drop"] * 9, call=lambda api: api.create_node({}))
        asks(problems.Unauthorized, 1, 401)
        asks(problems.Forbidden, 1, 403)
        asks(problems.Unavailable, 2, *[problem(503, "unavailable", **{"retry-after": "0"})] * 9)
        asks(problems.NotUpToDate, 1, problem(409, "not-up-to-date"))
        # Nobody is there, so nothing was done.
        with Proxy() as proxy:
            gone = self.through(proxy, attempts=2)
        with self.assertRaises(NoAnswer) as nobody:
            list(gone.get_nodes(["secret"]))
        self.assertRegex(str(nobody.exception), rf"no answer to GET {proxy.url}/nodes: .*refused")
        self.assertNotIn("secret", str(nobody.exception))
        with self.assertRaises(NoAnswer):
            gone.create_node({})

    def test_an_attempt_that_may_have_been_done_isnt_forgotten_when_a_later_one_is_refused(self) -> None:
        in_progress = problem(409, "in-progress", **{"retry-after": "0"})
        for refusal, attempts in ((429, 3), (in_progress, 3), (401, 2), (403, 2), (problem(403, "forbidden"), 2)):
            with self.subTest(refusal=refusal), Proxy("lose", *[refusal] * 9) as proxy:
                with self.assertRaises(OutcomeUnknown) as unknown:
                    self.through(proxy, attempts=3).create_node({"parent": self.node})
                self.assertIsInstance(unknown.exception.__cause__, Problem)
                self.assertEqual(len(proxy.seen), attempts)
        with Proxy("lose", 401) as proxy, self.assertRaises(OutcomeUnknown):
            self.through(proxy).patch_node(self.node, {"attributes": {"a": 1}})
        # The API's own refusal of a request with a key is about all its attempts.
        with Proxy("drop", problem(409, "deleting")) as proxy, self.assertRaises(problems.Deleting):
            self.through(proxy).create_node({"parent": self.node})
        # What the API names to read stays named.
        with Proxy(problem(503, "outcome-unknown", location="/nodes/named"), 401) as proxy, self.assertRaises(OutcomeUnknown) as unknown:
            self.through(proxy).create_node({"parent": self.node})
        self.assertEqual(unknown.exception.location, "/nodes/named")

    def test_an_answer_says_how_long_to_wait_up_to_a_minute(self) -> None:
        for status in (429, 503):
            with Proxy((status, {"retry-after": "2"}, b"{}"), (status, {"retry-after": "61"}, b"{}")) as proxy:
                api, slept = self.through(proxy), list[float]()
                api._sender.sleep = slept.append
                with self.assertRaises(Problem):
                    api.get_node(self.node)
                self.assertEqual((slept, len(proxy.seen)), ([2], 2))

    def test_answers_of_others_and_of_later_versions_are_understood(self) -> None:
        kind = {"content-type": "application/problem+json"}
        html = 200, {"content-type": "text/html"}, b"<html>"
        json = {"content-type": "application/json"}
        unread = (200, json, b""), (201, json, b""), (200, json, b'{"id": "cut o'), (200, json, b'{"id": {"$number": "no digits"}}')
        foreign = 502, kind, b'{"type": "https://example.org/problem"}'
        for order in (problem(500, "of-a-later-version"), foreign, (503, kind, b"no JSON"), html, *unread):
            with self.subTest(order=order):
                with Proxy(order) as proxy:
                    self.assertEqual(self.through(proxy).create_node({"parent": self.node}).status, 201)
                    self.assertEqual(len(set(proxy.seen)), 1)
                with Proxy(order) as proxy, self.assertRaises(OutcomeUnknown):
                    self.through(proxy, idempotency_keys=False).create_node({"parent": self.node})
                self.assertEqual(len(proxy.seen), 1)
        for text in (b"null", b"{}", b"[]", b'{"type": 1}', b'{"type": "about:blank"}', b"<html>"):
            with self.subTest(text=text), Proxy((404, kind, text)) as proxy, self.assertRaises(problems.NotFound):
                self.through(proxy).get_node(self.node)
        with Proxy(*[html] * 5) as proxy, self.assertRaises(NoAnswer):
            self.through(proxy).get_node(self.node)

    def test_reads_are_asked_again(self) -> None:
        with Proxy("drop", 502, "lose", problem(503, "unavailable", **{"retry-after": "0"})) as proxy:
            self.assertEqual(self.through(proxy).get_node(self.node).body["id"], self.node)
            self.assertEqual(len(proxy.seen), 5)
        # Each page by itself.
        for position in range(4):
            self.direct.create_node({"id": f"{self.node}-{position}", "parent": self.node}, wait=5)
        with Proxy("lose", "pass", "lose", "pass", 503, "drop") as proxy:
            listed = list(self.through(proxy).list_children(self.node, limit=2))
            self.assertEqual([child["id"] for child in listed], [f"{self.node}-{position}" for position in range(4)])

    def test_headers_may_follow_the_request(self) -> None:
        asked = list[Any]()

        def signed(request: Any) -> Mapping[str, str]:
            asked.append((request.method, urlsplit(request.url).path, request.body))
            return {"x-signature": str(len(asked))}

        with Proxy("drop") as proxy:
            self.through(proxy, headers=signed).create_node({"parent": self.node})
        self.assertEqual(asked, [("POST", "/nodes", values.dumps({"parent": self.node}))] * 2)


def token(**derived: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(derived).encode()).decode().rstrip("=")


class Tokens(unittest.TestCase):
    """What a session sends, and when it forgets tokens. `answers` are those of its next requests; later ones are 200."""

    def setUp(self) -> None:
        self.asked = list[tuple[str, str, dict[str, list[str]]]]()
        self.answers = list[Callable[[], Response] | Response]()
        api = Sapwood("http://x", transport=self.sent, attempts=2)
        api._sender.sleep = lambda seconds: None
        self.session = api.session()

    def sent(self, request: Request, timeout: float) -> Response:
        url = urlsplit(request.url)
        self.asked.append((request.method, url.path, parse_qs(url.query)))
        answer = self.answers.pop(0) if self.answers else Response(200, "", {}, b'{"items": []}')
        return answer() if callable(answer) else answer

    def wrote(self, *tokens: str) -> None:
        for one in tokens:
            self.answers.append(Response(201, "", {"sapwood-consistency-token": one}, b"{}"))
            self.session.create_node({})
        self.asked.clear()

    def reads(self) -> list[tuple[list[str], list[str] | None]]:
        """The tokens, and whether it is strong, of each request that a read makes."""
        self.asked.clear()
        list(self.session.list_roots())
        return [(query.get("written", []), query.get("consistent")) for _, _, query in self.asked]

    def test_a_tree_is_followed_from_a_cursor_until_it_must_be_listed_again(self) -> None:
        def page(cursor: str, more: bool) -> Response:
            body = {"changes": [{"id": f"node {cursor}", "node": None}], "cursor": cursor, "has_more": more}
            return Response(200, "", {}, json.dumps(body).encode())

        def answer(request: Request, _: float) -> Response:
            asked.append((request.url.partition("cursor=")[2], dict(request.headers).get("prefer")))
            return answers.pop(0)

        refused = problem(410, "list-anew")
        asked, answers = list[Any](), [page("b", True), page("c", False), Response(refused[0], "", refused[1], refused[2])]
        seen = []
        with self.assertRaises(problems.ListAnew):
            for changes in Sapwood("http://x", transport=answer).follow("r", cursor="a", wait=5, every=0.01):
                seen.append(changes["changes"][0]["id"])
        self.assertEqual((seen, [cursor for cursor, _ in asked]), (["node b", "node c"], ["a", "b", "c"]))

    def test_tokens_go_once_a_read_has_shown_them(self) -> None:
        self.wrote(a := token(node="a"), b := token(node="b"), a)
        self.assertEqual(self.session.written, [b, a])
        self.assertEqual(self.reads(), [([b, a], ["true"])])
        self.assertEqual((self.session.written, self.reads()), ([], [([], ["true"])]))

    def test_what_was_refused_or_not_answered_has_shown_nothing(self) -> None:
        def lost() -> Response:
            raise ConnectionResetError

        self.wrote(a := token(node="a"))
        for failed in (problem(409, "not-up-to-date", **{"retry-after": "1"}), problem(404, "not-found"), lost, (200, {}, b"<html>")):
            answer = failed if callable(failed) else Response(failed[0], "", failed[1], failed[2])
            self.answers += [answer, answer]
            with self.assertRaises(problems.SapwoodError):
                self.reads()
            self.answers.clear()
            self.assertEqual(self.session.written, [a])
        self.assertEqual(self.reads(), [([a], ["true"])])

    def test_what_is_written_during_a_read_stays(self) -> None:
        self.wrote(a := token(node="a"), b := token(node="b"))

        def meanwhile() -> Response:
            self.session.must_show(a, token(node="c"))
            return Response(200, "", {}, b'{"items": []}')

        self.answers.append(meanwhile)
        self.assertEqual(self.reads(), [([a, b], ["true"])])
        self.assertEqual(self.session.written, [a, token(node="c")])

    def test_there_is_one_token_for_a_node_a_topic_and_an_operation(self) -> None:
        second, third = token(copy=["a", "T", 2]), token(copy=["a", "T", 3])
        self.wrote(third, second, token(copy=["a", "U", 1]), token(copy=["b", "T", 1]), token(node="é"), "of a later version", token(node="d"))
        self.assertEqual(len(self.session.written), 6)
        self.assertEqual(self.session.written[0], third)
        # That of an operation is about its node, too, but not the other way round.
        self.wrote(operation := token(operation=["o", "é"]))
        self.assertEqual((token(node="é") in self.session.written, operation in self.session.written), (False, True))
        self.wrote(token(node="é"), token(operation=["o2", "é"]))
        self.assertEqual(len(self.session.written), 7)

    def test_no_token_is_lost_where_there_are_more_than_a_read_takes(self) -> None:
        tokens = [token(node=f"{number}") for number in range(25)]
        self.wrote(*tokens)
        refused = problem(409, "not-up-to-date")
        self.answers += [Response(200, "", {}, b'{"items": []}'), Response(refused[0], "", refused[1], refused[2])]
        with self.assertRaises(problems.NotUpToDate):
            self.reads()
        self.assertEqual(self.session.written, tokens[10:])
        self.assertEqual([written for written, _ in self.reads()], [tokens[10:20], tokens[20:]])
        self.assertEqual([path for _, path, _ in self.asked], ["/nodes", "/roots"])
        # A URL has room for fewer long ones.
        tokens = [token(node=f"{number}" * 1_000) for number in range(10)]
        self.wrote(*tokens)
        self.assertEqual([written for written, _ in self.reads()], [tokens[:4], tokens[4:8], tokens[8:]])

    def test_all_pages_of_a_list_are_strong(self) -> None:
        """A cursor is for reads of one strength."""
        self.answers += [Response(200, "", {}, b'{"items": [], "cursor": "c"}')]
        pages = self.session.list_roots().pages()
        next(pages)
        self.session.must_show(token(node="a"))
        list(pages)
        self.assertEqual([query.get("consistent") for _, _, query in self.asked], [["true"]] * 2)
        self.assertEqual([query.get("written") for _, _, query in self.asked], [None, [token(node="a")]])

    def test_a_deletion_has_tokens_the_same_in_each_attempt(self) -> None:
        self.wrote(a := token(node="a"))
        unknown, has_children = problem(503, "outcome-unknown"), problem(409, "has-children")

        def meanwhile() -> Response:
            self.session.must_show(token(node="b"))
            return Response(unknown[0], "", unknown[1], unknown[2])

        self.answers += [meanwhile, meanwhile, Response(has_children[0], "", has_children[1], has_children[2])]
        with self.assertRaises(OutcomeUnknown):
            self.session.delete_node("d")
        self.assertEqual(self.asked, [("DELETE", "/nodes/d", {"written": [a]})] * 2)
        with self.assertRaises(problems.HasChildren):
            self.session.delete_node("d")
        self.assertEqual(self.session.written, [a, token(node="b")])
        # One that was answered has shown them, and has a token of its own.
        self.answers.append(Response(204, "", {"sapwood-consistency-token": token(node="d")}, b""))
        self.session.delete_node("d")
        self.assertEqual(self.asked[-1][2], {"written": [a, token(node="b")]})
        self.assertEqual(self.session.written, [token(node="d")])
        for name, operation in OPERATIONS.items():
            self.assertTrue(operation.takes_written or name == "get_totals" or not operation.takes_consistent, name)


class Document(unittest.TestCase):
    def test_there_is_a_class_for_each_type_of_problem(self) -> None:
        kinds = (ROOT / "shared/api/src/problem/kind.rs").read_text()
        slugs = set(re.findall(r'\w+ => \("([a-z-]+)", "', kinds))
        self.assertEqual({*problems.PROBLEMS, "outcome-unknown"}, slugs)
        self.assertGreater(len(slugs), 30)
        for slug, kind in problems.PROBLEMS.items():
            found = problem_of({"type": f"urn:sapwood:problem:{slug}", "title": "T", "status": 409, "detail": "D"})
            self.assertTrue(type(found) is kind and found.slug == slug)
        later = problem_of({"type": "urn:sapwood:problem:of-a-later-version", "title": "T", "status": 409, "detail": "D"})
        self.assertTrue(type(later) is Problem and str(later) == "T: D")

    def test_errors_come_from_one_process_to_another(self) -> None:
        refused = problem_of({"type": "urn:sapwood:problem:name-taken", "title": "T", "status": 409, "detail": "D", "node": "N"}, "/nodes/N")
        assert isinstance(refused, problems.NameTaken)
        for error in (refused, OutcomeUnknown("message", "/nodes/N"), InvalidKey("empty", "message")):
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again), again.__dict__), (type(error), str(error), error.__dict__))

    def test_a_session_is_a_client(self) -> None:
        self.assertIsInstance(Sapwood("http://127.0.0.1:1").session(), Session)

    def test_a_half_character_is_refused_in_a_path(self) -> None:
        with self.assertRaises(UnicodeEncodeError):
            in_path("\ud800")


if __name__ == "__main__":
    unittest.main()
