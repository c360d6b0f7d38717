"""Answers of a database that are not as the contract says: they are no answers, and say what is wrong with them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from seawall.adapters.conformance.server import Server
from seawall.adapters.http_database import known_regions
from seawall.adapters.http_database.client import Client
from seawall.adapters.http_database.clients import HTTPDataPlanes
from seawall.adapters.http_database.database import HTTPDataPlane, HTTPMetadataStore
from seawall.adapters.http_database.known_regions import KnownRegions
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import (
    HTTPConnection,
    NoDataPlane,
    NotReached,
    PartRefused,
    PartUnavailable,
    User,
)
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.view import DataPlaneView
from seawall.observe.database import DatabaseAnswers
from seawall.ports import MetadataStore
from tests.contract.test_data_plane_contract import before_fake
from tests.fakes.dataplane import FakeMetadataStore, FakeRegion
from tests.support.contract_facade import Ask, Served, served, serving
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

KEY = Key("prod", "wal")
Change = Callable[[Any], object]


def asked() -> Ask:
    """Of a database with a region."""
    facade, fake = before_fake()
    store = facade.store
    assert isinstance(store, FakeMetadataStore)
    store.put_region("wal_0", 7, leader=0, checkpoint=None)
    fake.regions[7] = FakeRegion(datanode=0, flushed=3, last=5, memtable_bytes=64)
    return served(facade)


def changed(path: str, change: Change) -> Ask:
    """The same, with one answer that is changed."""
    ask = asked()

    def other(method: str, at: str, body: bytes) -> Served:
        status, kind, found = ask(method, at, body)
        if at == path:
            found = json.loads(json.dumps(found))
            change(found)
        return status, kind, found

    return other


def node(found: Any) -> Any:
    return found["nodes"][0]


def region(found: Any) -> Any:
    return node(found)["regions"][0]


REPORTS: dict[str, tuple[Change, str]] = {
    "an id as text": (lambda found: region(found).update(flushedEntryId="3"), r"flushedEntryId: Input should be a val"),
    "an id as float": (lambda found: region(found).update(flushedEntryId=3.0), "flushedEntryId"),
    "an id as bool": (lambda found: region(found).update(flushedEntryId=True), "flushedEntryId"),
    "an id below 0": (lambda found: region(found).update(flushedEntryId=-1), "greater than or equal to 0"),
    "an id beyond any offset": (lambda found: region(found).update(flushedEntryId=2**63), "less than or equal"),
    "no id": (lambda found: region(found).pop("flushedEntryId"), "flushedEntryId: Field required"),
    "a misspelt id": (
        lambda found: region(found).update(flushedEntryID=region(found).pop("flushedEntryId")),
        "required",
    ),
    "a state that nobody knows": (lambda found: region(found).update(state="Hibernating"), "state"),
    "a time without an offset": (lambda found: node(found).update(reportedAt="2026-11-26T09:00:00"), "timezone"),
    "a time as a number": (lambda found: node(found).update(reportedAt=1_790_000_000), "reportedAt"),
    "a node twice": (lambda found: found["nodes"].append(node(found)), "contradicts itself: two reports of node 0"),
    "a region twice": (lambda found: node(found)["regions"].append(region(found)), "two reports by node 0 of region 7"),
    "regions are missing": (lambda found: node(found).pop("regions"), "regions: Field required"),
    "an object in place of a list": (lambda found: found.update(nodes={}), "nodes"),
}


@pytest.mark.parametrize("case", REPORTS)
def test_reports_that_make_no_sense_are_refused(case: str) -> None:
    change, said = REPORTS[case]
    with serving(changed("/reports", change)) as url, pytest.raises(PartRefused, match=said) as refused:
        HTTPDataPlane(Client(HTTPConnection(url))).reports()
    assert refused.value.why is NotReached.UNEXPECTED_ANSWER


def test_a_field_that_nobody_knows_is_ignored_and_null_is_not_0() -> None:
    def change(found: Any) -> None:
        region(found).update(flushedEntryId=None, temperature=37)

    with serving(changed("/reports", change)) as url:
        (report,) = HTTPDataPlane(Client(HTTPConnection(url))).reports()[0].regions
    assert (report.region_id, report.data.flushed_entry_id) == (7, None)


METADATA: dict[str, tuple[Change, str]] = {
    "a topic twice": (lambda found: found["topics"].extend(2 * [marker()]), "two markers of topic wal_0"),
    "a claim twice": (
        lambda found: found["claims"].extend(2 * [{"prefix": "a", "owner": "b"}]),
        "two claims on prefix a",
    ),
    "a node at two addresses": (lambda found: found["nodes"].append(node(found)), "two addresses of node"),
    "no revision": (lambda found: found.pop("revision"), "revision: Field required"),
    "no identity": (lambda found: found.update(database=""), "database"),
    "a topic that Kafka cannot have": (lambda found: found["topics"].append(marker("a/b")), "topic"),
}


def marker(topic: str = "wal_0") -> dict[str, object]:
    return {"topic": topic, "marker": None, "revision": 1}


@pytest.mark.parametrize("case", METADATA)
def test_metadata_that_make_no_sense_are_refused(case: str) -> None:
    change, said = METADATA[case]
    with serving(changed("/metadata", change)) as url, pytest.raises(PartRefused, match=said):
        HTTPMetadataStore(Client(HTTPConnection(url))).snapshot()


def test_nothing_between_may_answer_by_what_it_has_kept() -> None:
    """A proxy with metadata of before, beside reports of now: a region that was made since would need nothing."""
    heard: list[Mapping[str, str]] = []
    with serving(asked(), heard=heard) as url:
        client = Client(HTTPConnection(url))
        HTTPDataPlane(client).reports()
        HTTPMetadataStore(client).snapshot()
        HTTPMetadataStore(client).head()
        client.close()
        server = Server(HTTPConnection(url), may_write=False, pause=lambda _: None)
        server.describe()
        server.close()
    assert [each.get("Cache-Control") for each in heard] == ["no-cache"] * 4


class Catalogue:
    """Reads the metadata of one WALCluster again and again, each time with another change."""

    def __init__(self) -> None:
        self._planes = HTTPDataPlanes()
        self._change: Change = whole

    @contextmanager
    def served(self) -> Iterator[None]:
        with serving(changed("/metadata", self._alter)) as self._url:
            yield

    def _alter(self, found: Any) -> None:
        self._change(found)

    def read(self, change: Change, user: User | None = None) -> MetadataSnapshot:
        self._change = change
        return self._planes.connect(KEY, HTTPConnection(self._url, user=user)).metadata_store.snapshot()

    @property
    def store(self) -> MetadataStore:
        return self._planes.connect(KEY, HTTPConnection(self._url)).metadata_store


def whole(found: Any) -> None:
    assert len(found["regions"]) == 1


def half(found: Any) -> None:
    found.update(regions=[])


def buried(found: Any) -> None:
    found.update(regions=[], dropped=[{"id": 7, "topic": "wal_0"}])


GONE: dict[str, Change] = {"a region": half, "it is on another topic": lambda found: region_of(found, topic="wal_1")}


def region_of(found: Any, **change: str) -> None:
    found["regions"][0].update(change)


@pytest.mark.parametrize("before", [whole, buried])
@pytest.mark.parametrize("case", GONE)
def test_a_region_that_is_gone_without_a_change_is_not_gone(case: str, before: Change) -> None:
    """A control plane that starts with half of its catalogue: its revision is the one of before."""
    catalogue = Catalogue()
    with catalogue.served():
        catalogue.read(before)
        for user in (None, None, User("seawall", "a new password")):
            with pytest.raises(PartRefused, match="had region 7 of topic wal_0, and lack it now") as refused:
                catalogue.read(GONE[case], user)
            assert refused.value.why is NotReached.UNEXPECTED_ANSWER
        assert len(catalogue.read(whole).wal_topics) == 1


def test_a_region_that_is_dropped_or_of_another_database_is_gone() -> None:
    catalogue = Catalogue()
    with catalogue.served():
        catalogue.read(whole)
        assert catalogue.read(buried).tombstoned_topics == {7: {"wal_0"}}, "its records are kept"
        assert not catalogue.read(lambda found: found.update(regions=[], database="copy")).wal_topics
        catalogue.read(whole)
        assert not catalogue.read(lambda found: found.update(regions=[], revision=found["revision"] + 1)).wal_topics


def no_revision_is_remembered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KnownRegions, "require_kept", lambda *_: None)


def test_each_guard_is_missed() -> None:
    def goes(case: str, before: Change) -> Callable[[], None]:
        return lambda: test_a_region_that_is_gone_without_a_change_is_not_gone(case, before)

    def dropped_are_forgotten(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(known_regions, "_may_come_back", lambda _: ())

    forgets = rewritten(HTTPDataPlanes, "_held", "if found is None else found.known", "")
    mutants = (
        (no_revision_is_remembered, goes("a region", whole)),
        (dropped_are_forgotten, goes("a region", buried)),
        (forgets, goes("a region", whole)),
    )
    assert find_survivors(mutants) == []


def test_another_major_version_of_the_contract_is_refused() -> None:
    with serving(changed("", lambda found: found.update(contract="2.0"))) as url:
        plane = HTTPDataPlane(Client(HTTPConnection(url)))
        for ask in (plane.wal_settings, plane.nodes, lambda: plane.flush_regions([7])):
            with pytest.raises(PartRefused, match=r"contract: .*is it version 1 of the contract\?"):
                ask()


def problem(status: int) -> dict[str, object]:
    return {"type": "about:blank", "title": "full", "status": status, "detail": "the disk is full"}


KIND = "application/problem+json"
ERRORS: tuple[tuple[Served, type[Exception], str], ...] = (
    ((503, KIND, problem(503)), PartUnavailable, "the database answers 503 the disk is full"),
    ((500, "text/html", b"<h1>Oops</h1>"), PartUnavailable, "answers 500 <h1>Oops</h1>"),
    ((404, "text/html", b"<h1>nginx</h1>"), PartRefused, r"answers 404 .*: correct dataPlane\.http\.url"),
    ((409, KIND, problem(409)), PartRefused, "answers 409 the disk is full: correct"),
    ((302, "text/plain", b"elsewhere"), PartRefused, "answers 302"),
    ((401, "text/plain", b"who?"), PartRefused, r"answers 401: it wants a user .* set dataPlane\.http\.auth"),
    ((200, "application/json", b"["), PartRefused, "makes no sense"),
    ((200, "application/json", b"[" * 100_000), PartRefused, "makes no sense"),
)


@pytest.mark.parametrize(("answer", "error", "said"), ERRORS)
def test_errors_are_told_in_their_own_words(answer: Served, error: type[Exception], said: str) -> None:
    with serving(lambda *_: answer) as url, pytest.raises(error, match=said):
        HTTPMetadataStore(Client(HTTPConnection(url))).snapshot()


def test_each_answer_is_of_the_database_that_it_names() -> None:
    """One URL before two: whose metadata were read decides, and the page says what is not its own."""
    with serving(asked()) as url:
        parts = HTTPDataPlanes().connect(KEY, HTTPConnection(url))
        plane, store = parts.data_plane, parts.metadata_store
        found = {report.database for report in plane.reports()} | {node.database for node in plane.nodes()}
        found.add(plane.wal_settings().database)
        found |= {store.head().store_id, store.snapshot().store_id, store.maintenance().store_id}
        assert len(found) == 1
        assert isinstance(DatabaseAnswers(parts).view(datetime.now(UTC)), DataPlaneView)
    for path, said in {"": "description is", "/reports": "reports are", "/metadata": "reports are"}.items():
        with serving(changed(path, lambda found: found.update(database="copy"))) as url:
            parts = HTTPDataPlanes().connect(KEY, HTTPConnection(url))
            page = DatabaseAnswers(parts).view(datetime.now(UTC))
        assert isinstance(page, NoDataPlane)
        assert page.why is NotReached.CONTRADICTION
        assert page.message.startswith(f"the {said} of database http/")
        assert "http/copy" in page.message


def test_an_answer_that_is_too_long_is_refused() -> None:
    with serving(asked()) as url, pytest.raises(PartRefused, match="answers more than"):
        HTTPDataPlane(Client(HTTPConnection(url), max_bytes=100)).reports()


def test_the_password_is_sent_and_one_that_is_wrong_is_told_without_it() -> None:
    right = f"Basic {b64encode('seawall:päss'.encode()).decode()}"
    with serving(asked(), require=right) as url:
        assert HTTPMetadataStore(Client(HTTPConnection(url, user=User("seawall", "päss")))).head().revision >= 1
        with pytest.raises(PartRefused, match="refused the user name or password") as refused:
            HTTPMetadataStore(Client(HTTPConnection(url, user=User("seawall", "hunter2")))).head()
    assert refused.value.why is NotReached.AUTHENTICATION_FAILED
    assert "hunter2" not in str(refused.value)
    with pytest.raises(PartRefused, match="cannot have a colon"):
        Client(HTTPConnection(url, user=User("sea:wall", "x")))


def test_of_a_database_without_flush_none_is_asked_for() -> None:
    def change(found: Any) -> None:
        found["capabilities"]["flush"] = False

    with serving(changed("", change)) as url:
        failures = HTTPDataPlane(Client(HTTPConnection(url))).flush_regions([7, 8])
    assert {region: (failure.final, failure.message) for region, failure in failures.items()} == dict.fromkeys(
        (7, 8), (True, "the database declares no flush")
    )
