"""Metadata of a database by the contract that went back are no answer, until a person says that they are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from seawall.adapters.http_database import known_regions, wire
from seawall.adapters.http_database.known_regions import DATABASES, KnownRegions
from seawall.domain.dataplane.connection import NotReached, PartRefused
from tests.adapters.test_http_database import Catalogue, Change, buried, half, whole
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten


@contextmanager
def read_once() -> Iterator[Catalogue]:
    """A catalogue whose region was read."""
    catalogue = Catalogue()
    with catalogue.served():
        catalogue.read(whole)
        yield catalogue


def moved(by: int, change: Change = whole) -> Change:
    """The same at another revision."""

    def at(found: Any) -> None:
        change(found)
        found["revision"] += by

    return at


def of(database: str, change: Change = whole) -> Change:
    """The same of another database."""

    def other(found: Any) -> None:
        change(found)
        found["database"] = database

    return other


def refused(catalogue: Catalogue, change: Change, said: str) -> str:
    with pytest.raises(PartRefused, match=said) as found:
        catalogue.read(change)
    assert found.value.why is NotReached.UNEXPECTED_ANSWER
    return str(found.value)


@pytest.mark.parametrize("change", [whole, half])
def test_metadata_of_a_lower_revision_are_no_answer(change: Change) -> None:
    """One URL leads to a control plane that lags behind, too: its reports lack the same regions."""
    with read_once() as catalogue:
        refused(catalogue, moved(-1, change), "went back from revision 2 to 1")
        refused(catalogue, half, "had region 7 of topic wal_0, and lack it now")
        assert len(catalogue.read(whole).wal_topics) == 1


def test_it_is_told_in_the_same_words_while_the_revision_rises_from_there() -> None:
    with read_once() as catalogue:
        catalogue.read(moved(5))
        said = {refused(catalogue, moved(by), "went back from revision 7 to 3") for by in (1, 2, 3)}
        assert len(said) == 1


@pytest.mark.parametrize("between", [1, DATABASES - 1])
def test_what_another_database_answers_in_between_changes_nothing(between: int) -> None:
    with read_once() as catalogue:
        for number in range(between):
            catalogue.read(of(f"copy-{number}"))
        refused(catalogue, half, "had region 7 of topic wal_0, and lack it now")
        refused(catalogue, moved(-1), "went back from revision 2 to 1")


def test_of_a_database_with_another_identity_each_time_not_all_are_remembered() -> None:
    known = KnownRegions()
    for number in range(3 * DATABASES):
        known.require_kept(metadata(1, database=f"queue-{number}"), known.asking())
    assert len(known.asking().before) == DATABASES


def test_a_region_is_not_gone_because_the_revision_rose_again_after_it_had_fallen() -> None:
    """Restored from a copy without the region, and changed more often since than was lost."""
    with read_once() as catalogue:
        refused(catalogue, moved(-1, half), "went back")
        for by in (1, 2):
            refused(catalogue, moved(by, half), "and lack it now, after they had gone back to revision 1")
        assert len(catalogue.read(moved(3)).wal_topics) == 1, "it was another control plane that lagged behind"
        assert not catalogue.read(moved(4, half)).wal_topics


def test_a_person_says_that_metadata_that_went_back_are_right() -> None:
    with read_once() as catalogue:
        refused(catalogue, moved(-1, half), "seawall.dev/readopt")
        assert catalogue.store.begin_anew() is True
        assert not catalogue.read(moved(-1, half)).wal_topics
        assert catalogue.store.begin_anew() is False, "they have not gone back since"


def followed(*nodes: int) -> Change:
    """With these followers."""

    def by(found: Any) -> None:
        found["regions"][0]["followers"] = list(nodes)

    return by


@pytest.mark.parametrize("nodes", [(), (2,)])
def test_a_follower_that_is_gone_without_a_change_is_not_gone(nodes: tuple[int, ...]) -> None:
    """A control plane that has read its regions, and not yet who follows them: nothing would hold their log for it."""
    with read_once() as catalogue:
        catalogue.read(moved(1, followed(1, 2)))
        refused(catalogue, moved(1, followed(*nodes)), "had region 7's follower on node 1, and lack it now, although")
        catalogue.read(moved(2, followed(*nodes)))
        catalogue.read(moved(3, buried))


def test_a_follower_is_not_gone_because_the_revision_rose_again_after_it_had_fallen() -> None:
    with read_once() as catalogue:
        catalogue.read(moved(1, followed(1)))
        refused(catalogue, whole, "went back")
        refused(catalogue, moved(2), "had region 7's follower on node 1, and lack it now, after they had gone back")
        catalogue.read(moved(3, buried))


def metadata(revision: int, *regions: int, database: str = "queue") -> wire.Metadata:
    """Of one topic."""
    found = [
        wire.Region(
            id=region,
            topic="wal_0",
            leader=0,
            followers=[],
            state=wire.State.SERVING,
            checkpoint_entry_id=None,
            revision=1,
        )
        for region in regions
    ]
    return wire.Metadata(
        database=database, revision=revision, topics=[], regions=found, dropped=[], nodes=[], claims=[]
    )


def test_an_answer_that_was_overtaken_on_its_way_has_not_gone_back() -> None:
    """Two look at the same time, and the older answer comes last."""
    known = KnownRegions()
    older, newer = known.asking(), known.asking()
    known.require_kept(metadata(2, 7, 8), newer)
    known.require_kept(metadata(1, 7), older)
    with pytest.raises(PartRefused, match="went back from revision 2 to 1"):
        known.require_kept(metadata(1, 7), known.asking())
    with pytest.raises(PartRefused, match="region 8"):
        known.require_kept(metadata(2, 7), known.asking())


def test_what_was_asked_for_before_a_readoption_is_not_remembered_after_it() -> None:
    known = KnownRegions()
    asked = known.asking()
    known.begin_anew()
    known.require_kept(metadata(2, 7), asked)
    known.require_kept(metadata(1), known.asking())


def test_each_guard_is_missed() -> None:
    def lower(change: Change) -> Callable[[], None]:
        return lambda: test_metadata_of_a_lower_revision_are_no_answer(change)

    def mutant(guard: str, instead: str) -> Callable[[pytest.MonkeyPatch], None]:
        return rewritten(known_regions, "_compare", guard, instead)

    mutants = (
        (mutant("before is not None and now.revision < before.revision", "False"), lower(half)),
        (mutant(" or newest.back_at is not None", ""), _after_it_had_fallen),
        (mutant("known.pop(now.database, None)", "known.clear()"), _in_between),
        (mutant("while len(known) > DATABASES", "while False"), _not_all),
        (mutant("now.revision < newest.revision", "False"), _overtaken),
        (rewritten(known_regions, "_require_kept", "before.followed.items()", "()"), lambda: _follower(())),
    )
    assert find_survivors(mutants) == []


_after_it_had_fallen = test_a_region_is_not_gone_because_the_revision_rose_again_after_it_had_fallen
_follower = test_a_follower_that_is_gone_without_a_change_is_not_gone
_not_all = test_of_a_database_with_another_identity_each_time_not_all_are_remembered
_overtaken = test_an_answer_that_was_overtaken_on_its_way_has_not_gone_back


def _in_between() -> None:
    test_what_another_database_answers_in_between_changes_nothing(1)
