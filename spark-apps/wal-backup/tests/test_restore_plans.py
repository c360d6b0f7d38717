"""What a plan says of a backup, a target and a padding, before anything is made."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest
from backups import Answer, Bed
from restores import GUARDED, MOST_BYTES, Restores, same, write_raw
from spark_marks import WITH_SPARK
from test_round_trip import transaction

from wal_backup.restore.plan import TopicPlan
from wal_backup.restore.planner import make_plan
from wal_backup.restore.request import parse_plan
from wal_backup.store import Store

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK

T0 = 1_700_000_000_000


class Story:
    """A full backup of two topics, and one that follows it; record n has the time T0 + n s."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.restores = bed, Restores(bed)
        self.one, self.other = (f"{name}_{secrets.token_hex(4)}" for name in ("one", "other"))
        bed.topics.create(self.one, self.other, config=GUARDED)
        self._write(0, 10)
        bed.topics.delete_records(self.one, 3)
        self.full = bed.back_up((self.one, 3, 10), (self.other, 0, 10))
        self._write(10, 20)
        transaction(bed, self.one, [b"gone"], commits=False)  # 20, 21
        ranges = ((self.one, 10, 22), (self.other, 10, 20))
        self.second = bed.back_up(*ranges, parent=self.full, name="second")
        assert self.second.summary["outcome"] == "Passed", self.second.summary

    def _write(self, first: int, end: int) -> None:
        for topic in (self.one, self.other):
            write_raw(self.bed, topic, [(b"k", b"v%d" % n, None, T0 + 1000 * n) for n in range(first, end)])

    def topics(self, **other: object) -> dict[str, TopicPlan]:
        """What the plan says of each."""
        answer = self.restores.plan(**other)
        assert answer.summary["outcome"] == "Passed", answer.summary
        request = parse_plan(json.dumps(self.restores.plan_request(**other)).encode())
        plan = make_plan(Store(request.place), request)
        assert plan.digest == answer.summary["plan"]["digest"]
        stored = (self.bed.objects / plan.name).read_bytes()
        assert stored == plan.to_bytes()
        return {topic.name.split("_")[0]: topic for topic in plan.topics}


@pytest.fixture
def story(folder_bed: Bed) -> Story:
    return Story(folder_bed)


def ends(topics: dict[str, TopicPlan]) -> dict[str, tuple[int, int, int]]:
    return {name: (topic.start, topic.end, topic.pad_end) for name, topic in topics.items()}


def refused(answer: Answer, *words: str) -> None:
    assert answer.summary["outcome"] == "Refused", answer.summary
    for word in words:
        assert word in answer.summary["message"], answer.summary
    assert "plan" not in answer.summary


def test_a_topic_that_only_older_backups_have_is_not_left_out_where_the_database_reads_it(story: Story) -> None:
    """Kafka did not answer for it when the newest one was made: the onset of what people restore for."""
    one, other, plan = story.one, story.other, story.restores.plan
    write_raw(story.bed, one, [(b"k", b"v22", None, T0)])
    third = story.bed.back_up((one, 22, 23), parent=story.second, name="third")
    assert third.summary["outcome"] == "Passed", third.summary
    second, reads = story.second.summary["manifest"]["name"], {other: {"readsFrom": 19, "end": 20}}
    refused(plan(needs=reads), f"does not have topic {other}", "reads from 19", f"{second} has it up to offset 20")
    for passes in (plan(), plan(one, needs=reads), plan(needs={other: {"readsFrom": 20, "end": 20}})):
        assert passes.summary["outcome"] == "Passed", passes.summary
    assert plan(other, backup=second, needs=reads).summary["outcome"] == "Passed"


def test_targets_and_what_they_refuse(story: Story) -> None:
    plan, one, other = story.restores.plan, story.one, story.other
    latest = story.topics()
    assert ends(latest) == {"one": (3, 22, 22), "other": (0, 20, 20)}
    assert (latest["one"].records, latest["one"].gaps) == (17, ((20, 22),))
    assert (latest["one"].largest, latest["one"].lost) == (1 + 3 + 77, 0)

    placed = plan(
        names=["x", other, "y", one], needs={one: {"readsFrom": 3, "end": 22}, "x": {"readsFrom": 0, "end": 99}}
    )
    assert placed.summary["plan"]["topics"] == "1,3"
    refused(plan(names=["x", other]), f"has topic {one}, which is none of those that may be restored")
    refused(plan(needs={one: {"readsFrom": 2, "end": 22}}), f"{one} would begin at offset 3", "reads from 2")
    refused(plan(needs={one: {"readsFrom": 3, "end": 23}}), f"{one} would end at offset 22", "entries up to 22")
    assert plan(needs={one: {"readsFrom": 3, "end": 23}}, padTo={one: 23}).summary["outcome"] == "Passed"

    padded = story.topics(padTo={one: 30, other: 5})
    assert ends(padded) == {"one": (3, 22, 30), "other": (0, 20, 20)}
    assert plan(padTo={one: 30}).summary["counts"]["lostAtMost"] == 8

    named = story.topics(backup=story.full.summary["manifest"]["name"])
    assert ends(named) == {"one": (3, 10, 10), "other": (0, 10, 10)}

    cut = story.topics(target={"offsets": {one: 21, other: 0}})
    assert ends(cut) == {"one": (3, 21, 21), "other": (0, 0, 0)}
    assert (cut["one"].records, cut["one"].gaps, cut["other"].sections) == (17, ((20, 21),), ())
    refused(plan(target={"offsets": {one: 23, other: 0}}), one, "at offset 23", "from 3 to 22")
    refused(plan(target={"offsets": {one: 2, other: 0}}), "at offset 2", "from 3 to 22")
    refused(plan(target={"offsets": {one: 5}}), f"does not say where topic {other}")

    timed = story.topics(target={"time": "2023-11-14T22:13:32.500Z"})  # T0 + 12.5 s
    assert ends(timed) == {"one": (3, 13, 13), "other": (0, 13, 13)}
    assert (
        story.topics(target={"time": "2023-11-14T23:13:32+01:00"})["one"].end == 13
    )  # a record of that time comes back
    assert ends(story.topics(target={"time": "2023-11-14T22:13:22Z"})) == {"one": (3, 3, 3), "other": (0, 3, 3)}
    refused(plan(target={"time": "2023-11-14T22:13:40Z"}), "2023-11-14T22:13:40", "up to 2023-11-14T22:13:39.000Z")
    refused(plan(target={"time": "2023-11-14T22:13:19.999Z"}), "from 2023-11-14T22:13:20.000Z to 2023-11-14T22:13:39")

    refused(plan("none*"), "has no topic none*")
    refused(plan(one, padTo={other: 30}), f"padTo names topic {other}")
    refused(plan(backup="none.json.gz"), "has no backup", "none.json.gz")
    refused(plan(chain="none"), "has no chain none")
    refused(plan(clusterId="another"), "has no chain")
    assert story.topics(chain=None) == latest
    story.bed.back_up((one, 3, 10), chain="another")
    refused(plan(chain=None), "has 2 chains", "another")


def test_a_restore_point_is_found_by_its_name_in_whichever_chain(story: Story) -> None:
    bed, plan, one, other = story.bed, story.restores.plan, story.one, story.other
    point: dict[str, Any] = {"name": "before", "snapshot": "s3://snapshots/1", "heldTime": "2026-11-24T18:20:00Z"}
    point |= {"snapshotTime": "2026-11-24T18:21:00Z", "readsFrom": {one: 3, other: 0}}
    ranges = ((one, 3, 15), (other, 0, 12))
    made = bed.back_up(*ranges, name="point", chain="another", restorePoint=point)
    assert made.summary["outcome"] == "Passed", made.summary
    assert bed.back_up((one, 15, 22), name="later", chain="another", parent=made).code == 0

    back = {"chain": None, "target": {"point": "before"}}
    assert ends(story.topics(**back)) == {"one": (3, 15, 15), "other": (0, 12, 12)}
    summary = plan(**back).summary
    assert summary["plan"]["restorePoint"] == {"name": "before", "snapshot": "s3://snapshots/1"}
    stored = json.loads((bed.objects / summary["plan"]["name"]).read_bytes())
    assert stored["restorePoint"] == summary["plan"]["restorePoint"]  # it is what a person approves
    refused(plan(**{**back, "target": {"point": "after"}}), "has no restore point after", "it has before")
    refused(plan(target={"point": "before"}), "has no restore point before", "it has none")  # of that chain
    refused(plan(**back, backup=story.full.summary["manifest"]["name"]), "has no restore point before")

    late = {**point, "name": "late", "readsFrom": {one: 3, other: 4}}
    assert bed.back_up((one, 4, 15), (other, 0, 12), name="late", chain="late", restorePoint=late).code == 0
    refused(plan(chain=None, target={"point": "late"}), f"{one} would begin at offset 4", "reads from 3")
    twice = bed.back_up(*ranges, name="again", chain="third", restorePoint=point)
    refused(plan(**back), "2 backups made a restore point before", twice.summary["manifest"]["name"])
    assert plan(**back, backup=twice.summary["manifest"]["name"]).summary["outcome"] == "Passed"


def test_a_topic_that_the_newest_backup_has_not_is_told_and_one_that_is_new_begins_there(story: Story) -> None:
    """As a policy's topics change: what is not backed up any more does not come back unasked."""
    bed, new = story.bed, f"new_{secrets.token_hex(4)}"
    empty = f"empty_{secrets.token_hex(4)}"
    bed.topics.fill({new: [(b"k", b"v")]})
    bed.topics.create(empty)
    ranges = ((story.one, 22, 22), (new, 0, 1), (empty, 0, 0))
    assert bed.back_up(*ranges, parent=story.second, name="third").code == 0
    request = parse_plan(json.dumps(story.restores.plan_request()).encode())
    plan = make_plan(Store(request.place), request)
    assert plan.left_out == (story.other,)
    assert ends(story.topics()) == {"one": (3, 22, 22), "new": (0, 1, 1), "empty": (0, 0, 0)}
    refused(story.restores.plan(needs={empty: {"readsFrom": 0, "end": 1}}), f"{empty} would end at offset 0")
    assert ends(story.topics(padTo={empty: 4}))["empty"] == (0, 0, 4)


def test_a_cut_comes_back_as_planned(story: Story) -> None:
    one, other = story.one, story.other
    before = {topic: story.bed.log(topic, start, 20) for topic, start in ((one, 3), (other, 0))}
    answer = story.restores.restore(one, other, target={"offsets": {one: 15, other: 4}}, padTo={one: 40})
    assert answer.summary["outcome"] == "Passed", answer.summary
    assert same(story.restores.log(one), before[one][:12], 3, 40)
    assert same(story.restores.log(other), before[other][:4], 0, 4)
    assert answer.summary["counts"]["largestRecord"] < MOST_BYTES


def test_no_record_of_a_restore_is_younger_than_what_comes_back(story: Story) -> None:
    """To the operator a record of after it was made is another's, and its topic is not removed (ADR 35)."""
    target, pads = {"time": "2023-11-14T22:13:22Z"}, {story.one: 40, story.other: 10}
    answer = story.restores.restore(story.one, story.other, target=target, padTo=pads)
    assert answer.summary["outcome"] == "Passed", answer.summary
    assert [record.timestamp for record in story.restores.log(story.one)] == [0] * 37, "none of its records comes back"
    assert max(record.timestamp for record in story.restores.log(story.other)) == T0 + 2_000
