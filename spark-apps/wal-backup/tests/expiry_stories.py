"""Chains in a store of its own, made by hand, and the deletion of some of them: each story needs a guard of it."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from sparkjob.fields import Fields
from wal_backup.__main__ import main
from wal_backup.chain import read_chains
from wal_backup.expiry import Expired, Problem, expire
from wal_backup.layout import attempt_folder, chain_folder, chains_folder, manifests_folder
from wal_backup.manifest import Manifest, Parent, RestorePoint, StoredObject, TopicBackup, digest_of_manifest
from wal_backup.request import Expiry, NamedChain
from wal_backup.store import Store, parse_place

KAFKA = "5L6g3nShT-eMCtK--X86sw"
OLD, OLDER, STAYS, FOREIGN, NOW = "old-1a2b3c4d", "older-1a2b3c4d", "stays-1a2b3c4d", "foreign", "now-1a2b3c4d"
TOPIC = TopicBackup("wal_0", "id", 0, 0, 0, {}, (), (), (), ())


def at(day: int) -> str:
    """A time as manifests have it."""
    return f"2026-11-{day:02}T02:00:00.000Z"


def manifest(chain: str, place: int = 0, day: int = 1, parent: Parent | None = None, kafka: str = KAFKA) -> Manifest:
    """A backup of a chain; the first has its name."""
    backup = chain if place == 0 else f"{chain}-{place}"
    objects = tuple(
        StoredObject(f"{attempt_folder(backup, 1)}/{number:05}-0.parquet", 9, hashlib.sha256(b"9").hexdigest())
        for number in range(2)
    )
    return Manifest(kafka, chain, backup, 1, place, "0" * 64, parent, at(day), at(day), (TOPIC,), objects)


@dataclass
class Stock:
    """A store with two chains that may go, one that is to stay, one of somebody else, and that of the backup."""

    storage: dict[str, Any]
    folder: Path
    kafka: str = KAFKA
    fulls: dict[str, Parent] = field(default_factory=dict)
    """The full backup of each chain; given: the chains are there already."""

    def __post_init__(self) -> None:
        self.store = Store(parse_place(Fields.of(self.storage, "storage")))
        self.fulls = self.fulls or {
            name: self.chain(name, day) for name, day in {OLDER: 1, OLD: 4, FOREIGN: 2, STAYS: 10, NOW: 20}.items()
        }

    def chain(self, name: str, day: int) -> Parent:
        """A full backup, two that continue it, and what an attempt left that was killed."""
        full = parent = self.put(manifest(name, day=day, kafka=self.kafka))
        for place in (1, 2):
            parent = self.put(manifest(name, place, day + place, parent, self.kafka))
        self.store.write(f"{self.path(name)}/{attempt_folder(name, 9)}/00000-0.parquet", b"garbage")
        return full

    def put(self, made: Manifest) -> Parent:
        """Its objects, then itself."""
        for each in made.objects:
            self.store.write(f"{self.path(made.chain)}/{each.path}", b"x" * each.bytes)
        content = made.to_bytes()
        self.store.write(f"{manifests_folder(self.path(made.chain))}/{made.name}", content)
        return Parent(made.name, digest_of_manifest(content))

    def path(self, chain: str) -> str:
        """Of a chain, in the store."""
        return chain_folder(self.kafka, chain)

    def named(self, name: str) -> dict[str, Any]:
        """The same in a request."""
        return {"name": name, "full": {"name": self.fulls[name].name, "digest": self.fulls[name].digest}}

    def known(self, name: str) -> NamedChain:
        """What the operator knows of a chain."""
        return NamedChain(name, self.fulls[name])

    def asked(self, *chains: str, stays: tuple[str, ...] = (STAYS,)) -> Expiry:
        """What a request says."""
        names = chains or (OLDER, OLD)
        fields = Fields.of(self.storage, "request.expire.storage")
        return Expiry(fields, tuple(map(self.known, names)), tuple(map(self.known, stays)))

    def expire(self, *chains: str, stays: tuple[str, ...] = (STAYS,)) -> Expired:
        """Deletes, as the newest backup of the newest chain."""
        return expire(self.asked(*chains, stays=stays), manifest(NOW, 3, 24))

    def left(self) -> dict[str, int]:
        """By chain how many manifests it has, of those of which anything is left."""
        found = self.store.sizes(chains_folder(self.kafka))
        chains = {path.split("/")[0] for path in found}
        return {name: sum(path.startswith(f"{name}/manifests/") for path in found) for name in chains}

    def inspect(self) -> dict[str, Any]:
        """What `inspect` says of all that is left."""
        asked, summary = self.folder / "inspect.json", self.folder / "inspect.summary"
        asked.write_text(json.dumps({"version": 1, "storage": self.storage, "clusterId": self.kafka, "chain": None}))
        main(["inspect", "--request", str(asked), "--summary", str(summary)])
        found: dict[str, Any] = json.loads(summary.read_bytes())
        return found


ALL = dict.fromkeys((OLDER, OLD, FOREIGN, STAYS, NOW), 3)
REST = dict.fromkeys((FOREIGN, STAYS, NOW), 3)


@contextmanager
def stock() -> Iterator[Stock]:
    """One in a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield Stock({"folder": {"path": str(folder / "store")}}, folder)


def is_left_alone(found: Expired, left: dict[str, int], gone: tuple[str, ...], why: str) -> None:
    """Only these went, and why others did not is said."""
    assert (found.problem, found.gone) == (Problem.LEFT_ALONE, gone), found
    assert why in found.message
    assert left == {name: number for name, number in ALL.items() if name not in gone}


def what_is_asked_for_goes_and_nothing_else() -> None:
    with stock() as each:
        assert each.expire() == Expired((OLDER, OLD))
        assert each.left() == REST
        assert each.inspect()["outcome"] == "Passed"
        assert each.expire() == Expired((OLDER, OLD))  # what is gone already is gone
        assert each.left() == REST


def _spoiled(spoil: Callable[[Stock], None], why: str, *chains: str, stays: tuple[str, ...] = (STAYS,)) -> Stock:
    """Of two chains one may not go, and the other does."""
    with stock() as each:
        spoil(each)
        found = each.expire(*chains, stays=stays)
        gone = tuple(name for name in chains if name != OLD)
        is_left_alone(found, each.left(), gone, why)
        return each


def _edit(each: Stock, chain: str, place: int, **changes: Any) -> None:
    """Another manifest by the same name."""
    (old,) = [one for one in read_chains(each.store, KAFKA, chain)[0].path if one.manifest.sequence == place]
    path = f"{manifests_folder(each.path(chain))}/{old.manifest.name}"
    each.store.write(path, replace(old.manifest, **changes).to_bytes())


def a_chain_with_a_restore_point_stays() -> None:
    point = RestorePoint("before-upgrade", "snap", at(5), at(5), {})
    _spoiled(lambda each: _edit(each, OLD, 2, restore_point=point), "has the restore point before-upgrade", OLDER, OLD)


def a_chain_of_another_full_backup_stays() -> None:
    _spoiled(lambda each: _edit(each, OLD, 0, request_digest="f" * 64), "full backup is not the one", OLDER, OLD)


def a_chain_that_went_on_since_stays() -> None:
    _spoiled(lambda each: _edit(each, OLD, 2, finished_time=at(25)), "after this backup began", OLDER, OLD)


def manifests_of_another_place_stay() -> None:
    _spoiled(lambda each: _edit(each, OLD, 2, cluster_id="other"), "of another place", OLDER, OLD)


def a_manifest_that_nobody_can_read_keeps_its_chain() -> None:
    def spoil(each: Stock) -> None:
        each.store.write(f"{manifests_folder(each.path(OLD))}/old-9.json.gz", b"?")

    with stock() as each:
        spoil(each)
        found = each.expire()
        assert (found.problem, found.gone) == (Problem.LEFT_ALONE, (OLDER,))
        assert each.left()[OLD] == 4


def a_chain_whose_manifests_are_not_listed_stays() -> None:
    """A gateway that has failed over, or a dropped cache: what keeps the chain is in what is not listed."""
    honest = Store.names

    def lags(self: Store, path: str) -> list[str]:
        return [] if f"/{OLD}/" in path else honest(self, path)

    with stock() as each, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "names", lags)
        found = each.expire(OLDER, OLD)
        is_left_alone(found, each.left(), (OLDER,), "and does not list it")


def the_chain_of_the_backup_itself_stays() -> None:
    with stock() as each:
        is_left_alone(each.expire(NOW), each.left(), (), "has this backup itself")


def nothing_goes_while_nothing_is_named_that_stays() -> None:
    with stock() as each:
        is_left_alone(each.expire(stays=()), each.left(), (), "no chain is named that is to stay")


def nothing_goes_while_what_is_to_stay_is_another() -> None:
    with stock() as each:
        each.fulls[STAYS] = each.fulls[OLD]
        is_left_alone(each.expire(), each.left(), (), "is to stay, and its full backup is not the one")


def nothing_goes_while_what_is_to_stay_is_damaged() -> None:
    with stock() as each:
        each.store.write(f"{each.path(STAYS)}/{manifest(STAYS, 2).objects[1].path}", b"less")
        is_left_alone(
            each.expire(), each.left(), (), "is to stay, and its object data/stays-1a2b3c4d-2-1/00001-0.parquet"
        )


def nothing_goes_while_what_is_to_stay_has_a_hole() -> None:
    with stock() as each:
        each.store.delete(f"{manifests_folder(each.path(STAYS))}/{manifest(STAYS, 1).name}")
        found = each.expire()
        assert (found.problem, found.gone) == (Problem.LEFT_ALONE, ()), found
        assert "is to stay, and is not whole: stays-1a2b3c4d-2-1-000002.json.gz names the parent" in found.message
        assert each.left() == {**ALL, STAYS: 2}


class Died(BaseException):
    """The process was killed here."""


def killed_at(calls: int, *, is_done: bool) -> Callable[[Any], Any]:
    """Wraps what deletes: the process dies at that call, before it or when it is done."""
    seen = [0]

    def wrap(honest: Any) -> Any:
        def mortal(self: Store, path: str) -> None:
            seen[0] += 1
            if seen[0] == calls and not is_done:
                raise Died
            honest(self, path)
            if seen[0] == calls:
                raise Died

        return mortal

    return wrap


def is_whole(each: Stock) -> None:
    """Every chain that has a manifest is whole, and only those that go are shorter, or have none."""
    for chain in read_chains(each.store, KAFKA):
        sizes = each.store.sizes(each.path(chain.name))
        if chain.path:
            assert not chain.findings(), chain.findings()
        else:
            assert not any(path.startswith("manifests/") for path in sizes)
        for stored in chain.path:
            assert all(sizes[one.path] == one.bytes for one in stored.manifest.objects)
    left = each.left()
    assert {name: number for name, number in left.items() if name not in {OLDER, OLD}} == REST


def whoever_dies_while_it_deletes_leaves_whole_chains(
    make: Callable[[], Any] = stock, moments: tuple[bool, ...] = (False, True)
) -> None:
    """At each call, before it or when it is done; the next one goes on."""
    calls = 0
    while True:
        calls += 1
        for is_done in moments:
            with make() as each:
                wrap, honest = killed_at(calls, is_done=is_done), (Store.delete, Store.delete_all)
                Store.delete, Store.delete_all = map(wrap, honest)  # type: ignore[method-assign]
                try:
                    each.expire()
                except Died:
                    survived = False
                else:
                    survived = True
                finally:
                    Store.delete, Store.delete_all = honest  # type: ignore[method-assign]
                is_whole(each)
                assert each.expire() == Expired((OLDER, OLD))
                assert each.left() == REST
        if survived:
            assert calls > 14  # of each chain three manifests, their objects, and what is left
            return
