"""A chain whose regions read from before it, as after metadata of an older copy: what it never had counts as lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkjob.errors import Refused
from wal_backup.layout import chain_folder
from wal_backup.manifest import Manifest, Parent, Region, RestorePoint, StoredObject, TopicBackup, digest_of_manifest
from wal_backup.parquet import Section
from wal_backup.restore import command, planner
from wal_backup.restore.plan import Plan
from wal_backup.restore.planner import make_plan
from wal_backup.restore.request import Latest, Needs, PlanRequest, Point, Target
from wal_backup.store import Folder, Store

TIME = "2026-11-30T00:00:00.000Z"


class Chain:
    """One of one topic, whose log had offsets from 20 on."""

    def __init__(self, path: Path) -> None:
        self.place = Folder(str(path))
        self.store = Store(self.place)
        self.parent: Parent | None = None

    def add(self, start: int, end: int, reads_from: int, log_start: int = 20, point: int | None = None) -> None:
        """A backup that continues the last one."""
        sequence = 0 if self.parent is None else int(self.parent.name.split("-")[2].split(".")[0]) + 1
        path = f"data/b{sequence}-1/a.parquet"
        section = Section(path, 0, start, end - 1, end - start, 10, 100, 1000, "d")
        regions = (Region(7, reads_from, None), Region(8, max(reads_from, 35), None))
        topic = TopicBackup("wal_0", "id", log_start, start, end, {}, regions, ((0, start),), (), (section,))
        made = None if point is None else RestorePoint("point", "s", TIME, TIME, {"wal_0": point})
        objects = (StoredObject(path, 5, "s"),)
        name = f"b{sequence}"
        manifest = Manifest(
            "kafka", "chain", name, 1, sequence, "r", self.parent, TIME, TIME, (topic,), objects, {}, made
        )
        content, folder = manifest.to_bytes(), chain_folder("kafka", "chain")
        self.store.write(f"{folder}/{path}", b"12345")
        self.store.write(f"{folder}/manifests/{manifest.name}", content)
        self.parent = Parent(manifest.name, digest_of_manifest(content))

    def request(self, target: Target, **more: Any) -> PlanRequest:
        return PlanRequest(self.place, "kafka", "chain", None, target, ("*",), {}, **more)

    def plan(self, target: Target | None = None, **more: Any) -> Plan:
        return make_plan(self.store, self.request(target or Latest(), **more))


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path)


def lost(plan: Plan) -> tuple[int, int]:
    (topic,) = plan.topics
    return topic.lost, topic.missing


def read_before(chain: Chain) -> None:
    chain.add(31, 40, 31)
    chain.add(40, 43, 11)


def test_what_regions_read_from_before_the_chain_counts_as_lost(chain: Chain) -> None:
    """Nobody else says so where no database answers; of 11 to 19 the log had nothing."""
    read_before(chain)
    assert lost(chain.plan()) == (11, 11)
    assert json.loads(chain.plan().to_bytes())["topics"][0]["missingBefore"] == 11


def test_it_is_said_of_which_topic(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    read_before(chain)
    monkeypatch.setattr(command, "parse_plan", lambda _: chain.request(Latest()))
    message = command.plan(b"", None).message
    assert "11 offsets are lost at most: of topic wal_0 regions read from 20, and the chain begins at 31" in message


def test_a_chain_that_has_all_of_it_loses_nothing(chain: Chain) -> None:
    chain.add(31, 40, 31)
    chain.add(40, 43, 36)
    assert lost(chain.plan()) == (0, 0)
    assert "missingBefore" not in chain.plan().topics[0].to_json()


def test_what_the_log_did_not_have_is_not_lost(chain: Chain) -> None:
    chain.add(31, 40, 11, log_start=31)
    assert lost(chain.plan()) == (0, 0)


def test_a_database_that_answers_knows_better(chain: Chain) -> None:
    read_before(chain)
    assert lost(chain.plan(needs={"wal_0": Needs(33, 43)})) == (0, 0)
    assert lost(chain.plan(needs={"wal_0": Needs(None, 43)})) == (11, 11)
    with pytest.raises(Refused, match="would begin at offset 31, and the database reads from 20"):
        chain.plan(needs={"wal_0": Needs(20, 43)})


def test_a_point_says_itself_what_it_needs(chain: Chain) -> None:
    chain.add(31, 40, 31)
    chain.add(40, 43, 11, point=31)
    assert lost(chain.plan(Point("point"))) == (0, 0)


def test_who_does_not_look_misses_it(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_missing", lambda *_: 0)
    with pytest.raises(AssertionError):
        test_what_regions_read_from_before_the_chain_counts_as_lost(chain)
