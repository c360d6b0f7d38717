"""A store that dies, is full or overloaded in mid-backup costs an attempt and no manifest: the next one goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from backups import Answer, Bed
from spark_marks import WITH_SPARK
from store_trouble import BUSY, FULL, UNKNOWN, PickyStore
from test_backup_refusals import filled

from seawall_e2e.loopback.processes import BedError
from seawall_e2e.loopback.s3 import S3Process
from wal_backup.backup import Backup
from wal_backup.task import TaskResult

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK
ALWAYS = 10**6


class Story:
    """A full backup, and records that the next one has to add."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.topic = bed, filled(bed)
        self.full = bed.back_up((self.topic, 0, 5))
        self.before = self.manifests()

    def manifests(self) -> dict[str, bytes]:
        """As they are stored, by name."""
        return {path.name: path.read_bytes() for path in (self.bed.chain / "manifests").iterdir()}

    def next(self, attempt: int) -> Answer:
        """An attempt of the next backup."""
        return self.bed.back_up((self.topic, 5, 10), parent=self.full, name="next", attempt=attempt)

    def was_interrupted(self, answer: Answer) -> None:
        """It says so, and no manifest is there that was not, or is another."""
        assert answer.summary["outcome"] == "Interrupted", answer.summary
        assert "manifest" not in answer.summary
        assert self.manifests() == self.before

    def goes_on(self) -> None:
        """The next attempt continues the same parent, and the chain is whole."""
        answer = self.next(attempt=2)
        assert answer.summary["outcome"] == "Passed", answer.summary
        parent = self.bed.manifest(answer).parent
        assert parent is not None
        assert parent.name == self.full.summary["manifest"]["name"]
        assert self.bed.stored(answer, self.topic) == self.bed.log(self.topic, 5, 10)
        assert (self.bed.check().code, self.bed.inspect().summary["chains"][0]["backups"]) == (0, 2)


@pytest.fixture
def story(bed: Bed) -> Story:
    return Story(bed)


@pytest.fixture
def mortal(s3: S3Process) -> Iterator[S3Process]:
    """The server of all tests: whatever becomes of it, it runs afterwards."""
    yield s3
    with suppress(BedError):  # it runs
        s3.start()


def while_it_reads(act: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """Before the first object is put."""
    honest = Backup._read

    def dying(backup: Backup) -> list[TaskResult]:
        act()
        return honest(backup)

    patch.setattr(Backup, "_read", dying)


def when_all_objects_are_there(act: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """Before the manifest is put."""
    honest = Backup._read

    def dying(backup: Backup) -> list[TaskResult]:
        found = honest(backup)
        act()
        return found

    patch.setattr(Backup, "_read", dying)


@pytest.mark.parametrize("when", [while_it_reads, when_all_objects_are_there])
def test_a_store_that_dies_in_mid_backup_interrupts_it_and_the_next_attempt_goes_on(
    story: Story,
    mortal: S3Process,
    when: Callable[[Callable[[], None], pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        when(mortal.kill, patch)
        answer = story.next(attempt=1)
    mortal.start()
    story.was_interrupted(answer)
    assert "does not answer" in answer.summary["message"], answer.summary
    story.goes_on()


@pytest.mark.parametrize(("trouble", "words"), [(FULL, "XStorageFull"), (BUSY, "reduce your request rate")])
def test_a_store_that_takes_nothing_interrupts_it_and_says_why(
    story: Story, trouble: tuple[str, str, str], words: str
) -> None:
    with PickyStore(story.bed) as store:
        store.answer(trouble, ALWAYS)
        answer = story.next(attempt=1)
        assert store.answered > 0
    story.was_interrupted(answer)
    assert words in answer.summary["message"], answer.summary
    story.goes_on()


def test_a_store_that_does_not_know_the_condition_of_a_manifest_takes_it_without(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    with PickyStore(story.bed) as store:
        store.only = b"if-none-match"
        store.answer(UNKNOWN, ALWAYS)
        answer = story.next(attempt=1)
        assert store.answered > 0
    assert answer.summary["outcome"] == "Passed", answer.summary
    assert "knows no If-None-Match" in caplog.text
    assert (story.bed.check().code, story.bed.inspect().summary["chains"][0]["backups"]) == (0, 2)


def test_one_put_that_the_store_had_no_time_for_is_sent_again(story: Story) -> None:
    with PickyStore(story.bed) as store:
        store.answer(BUSY, 1)
        answer = story.next(attempt=1)
        assert store.answered == 1
    assert answer.summary["outcome"] == "Passed", answer.summary
    assert story.bed.check().code == 0
