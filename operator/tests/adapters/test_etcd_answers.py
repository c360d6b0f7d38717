"""What something before etcd may answer in its stead: a sentence that says so, never a shorter answer, never no end."""

from __future__ import annotations

import json
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from seawall.adapters.greptimedb import etcd, etcd_gateway
from seawall.adapters.greptimedb.etcd import Etcd, Head
from seawall.adapters.greptimedb.keys import HasValue
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    EtcdConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
    User,
)
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

HEADER = {"cluster_id": "7", "revision": "5"}
HEAD = Head("7", 5)
MOST = 20
"""Requests after which the server takes whoever asks for one that never ends."""
Said = Callable[[str, Mapping[str, Any]], Any]


@contextmanager
def answering(said: Said, user: User | None = None) -> Iterator[Etcd]:
    """A client whose etcd answers so, by path and body of the request; bytes as they are."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = said(self.path, body) if len(asked) <= MOST else {"code": 2, "message": "asked without an end"}
            self.send_response(500 if isinstance(found, dict) and "code" in found else 200)
            self.end_headers()
            self.wfile.write(found if isinstance(found, bytes) else json.dumps(found).encode())

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        client = Etcd(EtcdConnection((url,), "", SYSTEM_TRUST, user), page=2)
        yield client
        client.close()
        server.shutdown()


def pair(key: str) -> dict[str, str]:
    return {"key": b64encode(key.encode()).decode(), "value": "", "mod_revision": "3"}


def always(answer: Any) -> Said:
    return lambda _path, _body: answer


def mixed_up(found: Said) -> None:
    with answering(found) as client, pytest.raises(PartRefused, match="other keys than those that begin with a/"):
        list(client.range("a/", HEAD))


ONE_PAGE = always({"header": HEADER, "kvs": [pair("a/1"), pair("a/2")], "more": True, "count": "4"})


def test_a_page_that_comes_again_is_no_next_one() -> None:
    """Whoever goes on asks for ever, and each request ends: no tick of it is taken for one that hangs."""
    mixed_up(ONE_PAGE)


@pytest.mark.parametrize("keys", [["a/2", "a/1"], ["a/1", "a/1"], ["b"], ["a/1", "b"], ["_"], ["!!"]])
def test_keys_that_were_not_asked_for_are_no_answer(keys: list[str]) -> None:
    mixed_up(always({"header": HEADER, "kvs": [pair(key) for key in keys], "count": str(len(keys))}))


def test_a_next_page_of_fewer_keys_than_were_left_is_no_last_one() -> None:
    pages = [
        {"header": HEADER, "kvs": [pair("a/1"), pair("a/2")], "more": True, "count": "4"},
        {"header": HEADER, "kvs": [pair("a/4")], "count": "1"},
    ]
    with answering(lambda _path, _body: pages.pop(0)) as client, pytest.raises(PartRefused, match="left out 1 keys"):
        list(client.range("a/", HEAD))


@pytest.mark.parametrize(("more", "count"), [(True, "2"), (False, "3")])
def test_a_page_that_contradicts_itself_about_what_is_left_is_none(count: str, *, more: bool) -> None:
    page = {"header": HEADER, "kvs": [pair("a/1"), pair("a/2")], "more": more, "count": count}
    with answering(always(page)) as client, pytest.raises(PartRefused, match="left out"):
        list(client.range("a/", HEAD))


def test_more_keys_than_were_left_are_no_answer() -> None:
    pages = [
        {"header": HEADER, "kvs": [pair("a/1"), pair("a/2")], "more": True, "count": "3"},
        {"header": HEADER, "kvs": [pair("a/3"), pair("a/4")], "count": "2"},
    ]
    mixed_up(lambda _path, _body: pages.pop(0))


def test_pages_follow_each_other() -> None:
    keys = [f"a/{number}" for number in range(5)]

    def paged(_path: str, body: Mapping[str, Any]) -> Any:
        left = [key for key in keys if key.encode() >= b64decode(body["key"])]
        return {"header": HEADER, "kvs": [pair(key) for key in left[:2]], "more": len(left) > 2, "count": len(left)}

    with answering(paged) as client:
        assert [found.key for found in client.range("a/", HEAD)] == keys


def test_a_key_that_is_counted_and_left_out_is_there() -> None:
    with answering(always({"header": HEADER, "count": "1"})) as client, pytest.raises(PartRefused, match="left out"):
        client.get("__switches/maintenance", HEAD)


NONSENSE: Mapping[str, Any] = {
    "no member": {},
    "no header": {"header": None, "kvs": []},
    "no numbers": {"header": {"cluster_id": "7", "revision": "x"}, "count": "x"},
    "no list": {"header": HEADER, "kvs": {"a": 1}, "count": "1"},
    "no key": {"header": HEADER, "kvs": [{}], "count": "1"},
    "no end": b"[" * 100_000,
    "no code": {"code": None},
}
CALLS: Mapping[str, Callable[[Etcd], object]] = {
    "head": lambda client: client.head("a"),
    "range": lambda client: list(client.range("a/", HEAD)),
    "get": lambda client: client.get("a", HEAD),
    "write": lambda client: client.write({"a": "1"}, [HasValue("a", None)]),
}


KEYLESS = {"head", "write"}


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (call, answer)
        for call in CALLS
        for answer in NONSENSE
        if not (call in KEYLESS and answer in {"no list", "no key"})
    ],
)
def test_nonsense_is_told_in_a_sentence(call: str, answer: str) -> None:
    with answering(always(NONSENSE[answer])) as client, pytest.raises(PartRefused) as refused:
        CALLS[call](client)
    assert refused.value.why is NotReached.UNEXPECTED_ANSWER


@pytest.mark.parametrize(
    ("answer", "error"), [({}, PartRefused), ({"token": ""}, PartRefused), ({"code": 16}, PartUnavailable)]
)
def test_who_gets_no_token_is_told(answer: Any, error: type[Exception]) -> None:
    with answering(always(answer), User("seawall", "secret")) as client, pytest.raises(error, match="no token") as told:
        client.head("a")
    assert "secret" not in str(told.value)


def test_each_guard_is_missed() -> None:
    def mutant(guard: str, instead: str) -> Callable[[pytest.MonkeyPatch], None]:
        return rewritten(etcd._Page, "require_whole", guard, instead)

    def other(*keys: str) -> Callable[[], None]:
        return lambda: test_keys_that_were_not_asked_for_are_no_answer([*keys])

    surplus, fewer = " or (wanted is not None and count > wanted)", "0 if wanted is None else wanted - count"
    mutants = (
        (mutant("least <= key", "True"), other("_")),
        (mutant("key < end", "least <= key"), other("a/1", "b")),
        (mutant('key + b"\\0"', "first"), other("a/1", "a/1")),
        (mutant(surplus, ""), test_more_keys_than_were_left_are_no_answer),
        (mutant(fewer, "0"), test_a_next_page_of_fewer_keys_than_were_left_is_no_last_one),
        (mutant("self.is_more is not (self.left > 0)", "False"), _contradicts_itself),
        (rewritten(etcd_gateway, "_token_in", " or not token", ""), _empty_token),
    )
    assert find_survivors(mutants) == []


def _contradicts_itself() -> None:
    test_a_page_that_contradicts_itself_about_what_is_left_is_none("2", more=True)


def _empty_token() -> None:
    test_who_gets_no_token_is_told({"token": ""}, PartRefused)
