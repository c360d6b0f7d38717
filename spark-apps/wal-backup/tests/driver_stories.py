"""Two drivers of one request, and one whose answer was lost: one manifest is put, and nobody overwrites it."""

from __future__ import annotations

import pytest
from backup_stories import after_reading
from backups import Answer, Bed
from test_backup_refusals import ended, filled

from wal_backup.manifest import digest_of_manifest
from wal_backup.store import Store


class SecondDriver:
    """It has the same request, and counts while the first one works; it meets no third."""

    def __init__(self, bed: Bed) -> None:
        self._bed, self._answers = bed, list[Answer]()
        self.topic = filled(bed)

    def counts(self, *_: object) -> None:
        """Its whole backup, once."""
        if not self._answers:
            self._answers.append(Answer(-1, {}))
            self._answers[0] = self._bed.back_up((self.topic, 0, 10))

    def is_what_is_there(self, first: Answer) -> None:
        """The first one ended without a manifest, and that of the second one is as it was put."""
        ended(first, "Interrupted", "is there already")
        (answer,) = self._answers
        assert answer.summary["outcome"] == "Passed"
        content = self._bed.manifest_path(answer).read_bytes()
        assert digest_of_manifest(content) == answer.summary["manifest"]["digest"]
        assert self._bed.check().summary["outcome"] == "Passed"


def a_second_driver_that_counts_first(bed: Bed) -> None:
    """It began when this one had read all, say, and found no manifest either; the store knows no conditions."""
    second = SecondDriver(bed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "create", lambda store, path, content: store.write(path, content) is None)
        first = after_reading(bed, second.topic, second.counts)
    second.is_what_is_there(first)


def two_drivers_that_ask_for_the_manifest_at_the_same_instant(bed: Bed) -> None:
    """Neither finds one, and both put theirs: what the second one put is what counts."""
    second, honest = SecondDriver(bed), Store.create

    def late(store: Store, path: str, content: bytes) -> bool:
        second.counts()
        return honest(store, path, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "create", late)
        first = bed.back_up((second.topic, 0, 10))
    second.is_what_is_there(first)


def a_manifest_whose_answer_was_lost(bed: Bed) -> None:
    """It was put, and is asked for once more: what is there is its own."""
    topic, honest = filled(bed), Store.create

    def twice(store: Store, path: str, content: bytes) -> bool:
        assert honest(store, path, content)
        return honest(store, path, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "create", twice)
        assert bed.back_up((topic, 0, 10)).summary["outcome"] == "Passed"
    assert bed.check().summary["outcome"] == "Passed"
