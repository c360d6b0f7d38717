"""What was changed in a store is named by object, topic and offset, and nothing of it passes for whole."""

from __future__ import annotations

import gzip
import hashlib
import json
import secrets
import shutil
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from backups import CHAIN, Answer, Bed, bucket_bed
from pyspark.sql import SparkSession
from restores import Restores, same
from spark_marks import WITH_SPARK

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from wal_backup.layout import chain_folder
from wal_backup.restore.section_reader import SectionChanged, SectionReader
from wal_backup.store import Folder, Store

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK

RECORDS = 40
TIME = 1_700_000_000_000
"""Of the records of the second backup and the third, in ms: so their objects have one size."""


class Story:
    """A full backup and two that follow it, of two topics: whole, until somebody changes what the store has.

    Both that follow have the same values, each at ten offsets.

    Attributes:
        twin: the manifest of another backup that follows the second, and the place where it would be.
    """

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.one, self.other = (f"{name}_{secrets.token_hex(4)}" for name in ("one", "other"))
        values = {
            name: [(b"key", f"{name} {n % 10}".encode()) for n in range(RECORDS)] for name in (self.one, self.other)
        }
        bed.topics.fill({name: records[:20] for name, records in values.items()})
        self.full = bed.back_up((self.one, 0, 20), (self.other, 0, 20))
        bed.topics.append({name: records[20:30] for name, records in values.items()}, TIME)
        self.second = bed.back_up((self.one, 20, 30), (self.other, 20, 30), parent=self.full, name="second")
        bed.topics.append({name: records[30:] for name, records in values.items()}, TIME)
        self.logs = {name: bed.log(name, 0, RECORDS) for name in (self.one, self.other)}
        ranges = tuple((name, 30, RECORDS) for name in self.logs)
        twin = bed.manifest_path(bed.back_up(*ranges, parent=self.second, name="rival"))
        self.twin = twin.name, twin.read_bytes()
        twin.unlink()
        self.third = bed.back_up(*ranges, parent=self.second, name="third")
        for answer in (self.full, self.second, self.third):
            assert answer.summary["outcome"] == "Passed", answer.summary
        assert (bed.inspect().summary["errors"], bed.check().summary["errors"]) == (0, 0)

    def copied(self, folder: Path) -> Story:
        """The same in a store of its own, which may be changed."""
        storage = {"folder": {"path": str(folder / "store")}}
        return self.copied_to(replace(self.bed, folder=folder, objects=folder / "store", storage=storage))

    def copied_to(self, bed: Bed) -> Story:
        """The same backups in a store that was empty, with what an S3 server keeps of each object."""
        shutil.copytree(self.bed.objects, bed.objects)
        other = copy(self)
        other.bed = bed
        return other

    def object_of(self, answer: Answer) -> Path:
        """The only object of a backup."""
        (stored,) = self.bed.manifest(answer).objects
        return self.bed.chain / stored.path

    def edit(self, answer: Answer, change: Callable[[dict[str, Any]], None]) -> None:
        """A manifest is changed where it lies."""
        path = self.bed.manifest_path(answer)
        data = json.loads(gzip.decompress(path.read_bytes()))
        change(data)
        path.write_bytes(gzip.compress(json.dumps(data).encode(), mtime=0))


@pytest.fixture(scope="module")
def in_bucket(
    spark: SparkSession, kafka: KafkaProcesses, s3: S3Process, tmp_path_factory: pytest.TempPathFactory
) -> Story:
    """The same in a bucket."""
    return Story(bucket_bed(spark, kafka, s3, tmp_path_factory.mktemp("story")))


def flip_in_a_page(story: Story) -> None:
    path = story.object_of(story.second)
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)


def flip_in_the_footer(story: Story) -> None:
    path = story.object_of(story.second)
    content = bytearray(path.read_bytes())
    content[-12] ^= 1
    path.write_bytes(content)


def cut_at_a_row_group(story: Story) -> None:
    path = story.object_of(story.second)
    first = pq.ParquetFile(path).read_row_group(0)
    pq.write_table(first, path)


def take_an_older_object(story: Story) -> None:
    shutil.copyfile(story.object_of(story.full), story.object_of(story.second))


def exchange_two_objects(story: Story) -> None:
    """Each is whole, and as large as the other."""
    one, other = story.object_of(story.second), story.object_of(story.third)
    content = one.read_bytes()
    assert len(content) == other.stat().st_size
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def lose_an_object(story: Story) -> None:
    story.object_of(story.second).unlink()


def _rewrite(story: Story, change: Callable[[Any], Any]) -> None:
    """Changes the rows of an object, and makes the size and the SHA-256 in its manifest good."""
    path = story.object_of(story.third)
    file = pq.ParquetFile(path)
    tables = change([file.read_row_group(number) for number in range(file.num_row_groups)])
    with pq.ParquetWriter(path, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=len(table))
    content = path.read_bytes()

    def made_good(data: dict[str, Any]) -> None:
        data["objects"][0] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}

    story.edit(story.third, made_good)


def drop_a_record(story: Story) -> None:
    _rewrite(story, lambda tables: [tables[0].slice(1), *tables[1:]])


def exchange_two_sections(story: Story) -> None:
    _rewrite(story, lambda tables: [tables[1], tables[0]])


def flip_in_a_manifest(story: Story) -> None:
    path = story.bed.manifest_path(story.second)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def lose_the_manifest_in_the_middle(story: Story) -> None:
    story.bed.manifest_path(story.second).unlink()


def forge_a_parent(story: Story) -> None:
    story.edit(story.second, lambda data: data["topics"][0].update({"to": 29}))


def name_another_parent(story: Story) -> None:
    story.edit(story.third, lambda data: data["parent"].update({"digest": "0" * 64}))


def forget_a_section(story: Story) -> None:
    def forget(data: dict[str, Any]) -> None:
        data["topics"][0]["sections"].clear()

    story.edit(story.third, forget)


def leave_twins(story: Story) -> None:
    name, content = story.twin
    (story.bed.chain / "manifests" / name).write_bytes(content)


def come_from_a_newer_program(story: Story) -> None:
    story.edit(story.third, lambda data: data.update({"version": 2}))


CASES: list[tuple[Callable[[Story], None], str, bool]] = [
    (flip_in_a_page, "ObjectChanged", False),
    (flip_in_the_footer, "ObjectChanged", False),
    (cut_at_a_row_group, "ObjectChanged", True),
    (take_an_older_object, "ObjectChanged", True),
    (exchange_two_objects, "ObjectChanged", False),
    (lose_an_object, "ObjectMissing", True),
    (drop_a_record, "SectionChanged", False),
    (exchange_two_sections, "SectionChanged", False),
    (flip_in_a_manifest, "ChainBroken", True),
    (lose_the_manifest_in_the_middle, "ChainBroken", True),
    (forge_a_parent, "ChainBroken", True),
    (name_another_parent, "ChainBroken", True),
    (forget_a_section, "OffsetsMissing", True),
    (leave_twins, "ChainBroken", True),
    (come_from_a_newer_program, "ChainBroken", True),
]
"""What is done to the store, what is found, and whether `inspect` finds it, which reads no object."""
SENTENCES: dict[Callable[[Story], None], str] = {
    flip_in_a_manifest: "{second} cannot be read",
    lose_the_manifest_in_the_middle: "{third} names the parent {second}, which is not there",
    forge_a_parent: "{third} names the parent {second} by digest",
    name_another_parent: f"{{third}} names the parent {{second}} by digest {'0' * 64}, and it has",
    leave_twins: "{twin} and {third} follow {second}",
    come_from_a_newer_program: "{third} has version 2; this program reads version 1",
}
"""What is said of a chain that is broken, with the names of manifests."""


@pytest.fixture(scope="module")
def built(shared_bed: Bed) -> Story:
    """Once for all cases."""
    return Story(shared_bed)


@pytest.fixture
def story(built: Story, tmp_path: Path) -> Story:
    """A copy in a folder, which keeps no checksums of its own."""
    return built.copied(tmp_path)


@pytest.mark.parametrize(
    ("corrupt", "kind", "without_reading"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_what_was_changed_is_named(
    story: Story, corrupt: Callable[[Story], None], kind: str, *, without_reading: bool
) -> None:
    bed = story.bed
    corrupt(story)
    checked, inspected = bed.check(), bed.inspect()
    assert checked.summary["outcome"] == "Failed"
    assert kind in checked.kinds(), checked.summary
    assert (kind in inspected.kinds()) is without_reading, inspected.summary
    if kind in {"ObjectChanged", "ObjectMissing", "SectionChanged", "OffsetsMissing"}:
        named = next(finding for finding in checked.summary["findings"] if finding["kind"] == kind)
        assert named["topic"] in {story.one, story.other}
        assert named["offset"] in {20, 30}
        assert (named["object"] is None) is (kind == "OffsetsMissing")
    if corrupt is exchange_two_objects:
        assert [finding["offset"] for finding in checked.summary["findings"] if finding["kind"] == kind] == [20, 30]
    if kind == "ChainBroken":
        for summary in (checked.summary, inspected.summary, Restores(bed).plan().summary):
            assert says(summary, SENTENCES[corrupt], story), summary
    restored_nothing(story, kind, is_planned=not without_reading)


def says(summary: dict[str, Any], sentence: str, story: Story) -> bool:
    """Whether one of its findings has the sentence."""
    names = {name: getattr(story, name).summary["manifest"]["name"] for name in ("second", "third")}
    wanted = sentence.format(**names, twin=story.twin[0])
    return any(wanted in finding["message"] for finding in summary["findings"])


def restored_nothing(story: Story, kind: str, *, is_planned: bool) -> None:
    """What is found without reading objects is not planned, and all else is found before a record is written."""
    restores, topics = Restores(story.bed), (story.one, story.other)
    planned = restores.plan()
    assert (planned.summary["outcome"] == "Passed") is is_planned, planned.summary
    if not is_planned:
        assert kind in planned.kinds()
        return
    restores.make_anew(*topics)
    answer = story.bed.run("restore", restores.request(planned.summary["plan"]["digest"], *topics))
    assert answer.summary["outcome"] == "Failed", answer.summary
    assert kind in answer.kinds()
    assert [restores.state(topic).end for topic in topics] == [0, 0]


@pytest.mark.parametrize(("corrupt", "kind"), [(lose_an_object, "ObjectMissing"), (forge_a_parent, "ChainBroken")])
def test_what_is_lost_between_plan_and_restore_is_told_before_a_record_is_written(
    story: Story, corrupt: Callable[[Story], None], kind: str
) -> None:
    restores, topics = Restores(story.bed), (story.one, story.other)
    digest = restores.plan().summary["plan"]["digest"]
    corrupt(story)
    restores.make_anew(*topics)
    answer = story.bed.run("restore", restores.request(digest, *topics))
    assert (answer.summary["outcome"], answer.kinds()) == ("Failed", [kind]), answer.summary
    assert [restores.state(topic).end for topic in topics] == [0, 0]


def test_a_backup_before_the_damage_is_restored_when_it_is_named(story: Story) -> None:
    restores, topics = Restores(story.bed), (story.one, story.other)
    forget_a_section(story)
    second = story.second.summary["manifest"]["name"]
    assert restores.plan().summary["outcome"] == "Failed"
    assert restores.plan(backup=story.third.summary["manifest"]["name"]).kinds() == ["OffsetsMissing"]
    assert restores.restore(*topics, backup=second).summary["outcome"] == "Passed"
    for topic in topics:
        assert same(restores.log(topic), story.logs[topic][:30], 0, 30)
    story.bed.manifest_path(story.full).write_bytes(b"other")
    assert restores.plan(backup=second).kinds() == ["ChainBroken"]


def test_what_no_manifest_names_does_not_exist(bed: Bed, in_bucket: Story) -> None:
    """Half an object that a dying writer left, and a whole one of a late one."""
    story = in_bucket.copied_to(bed)
    path = story.object_of(story.second)
    (path.parent / "00000-77.parquet").write_bytes(path.read_bytes()[:100])
    shutil.copyfile(path, path.parent / "00000-78.parquet")
    assert (bed.inspect().summary["errors"], bed.check().summary["errors"]) == (0, 0)


@pytest.mark.parametrize("corrupt", [flip_in_a_page, flip_in_a_manifest])
def test_what_the_store_itself_calls_damaged_is_a_finding_and_no_silence(
    bed: Bed, in_bucket: Story, corrupt: Callable[[Story], None]
) -> None:
    corrupt(in_bucket.copied_to(bed))
    checked = bed.check()
    assert checked.summary["outcome"] == "Failed"
    (found,) = [each for each in checked.summary["findings"] if "is damaged" in each["message"]]
    assert found["kind"] == ("ObjectChanged" if corrupt is flip_in_a_page else "ChainBroken")


@pytest.mark.parametrize(
    ("corrupt", "kind"),
    [
        (flip_in_a_page, "SectionUnreadable"),
        (flip_in_the_footer, "SectionUnreadable"),
        (cut_at_a_row_group, None),
        (take_an_older_object, "SectionChanged"),
        (lose_an_object, "ObjectMissing"),
    ],
)
def test_a_section_that_is_read_alone_is_whole_or_named(
    story: Story, corrupt: Callable[[Story], None], kind: str | None
) -> None:
    """As when the store changes behind a restore that has begun: nothing of it is written. The first section is."""
    corrupt(story)
    (topic, section) = next((each.name, each.sections[0]) for each in story.bed.manifest(story.second).topics)
    store = Store(Folder(story.bed.storage["folder"]["path"]))
    with SectionReader(store, chain_folder(story.bed.cluster_id, CHAIN)) as reader:
        if kind is None:
            assert len(reader.read(topic, section)) == 10
            return
        for _ in range(2):
            with pytest.raises(SectionChanged) as raised:
                reader.read(topic, section)
            found = raised.value.finding
            assert (found.kind, found.topic, found.offset) == (kind, topic, 20)
