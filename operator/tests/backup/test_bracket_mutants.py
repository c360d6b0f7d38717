"""The guards of restore points are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seawall.api.meta import SNAPSHOT_ANNOTATION
from seawall.domain.backup import bracket, kind
from seawall.domain.backup.contract import Summary
from seawall.domain.backup.selection import BackupSelection, select
from tests.backup import test_bracket as stories
from tests.backup import test_bracket_chain as of_chains
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def ends_asked_before(patch: Patch) -> None:
    """The logs end where they ended before the snapshot was taken."""
    kept = dict[str, int]()

    def stale(*arguments: Any) -> BackupSelection:
        found = select(*arguments)
        rows = tuple(replace(row, end=kept.setdefault(row.name, row.end)) for row in found.topics.readable)
        return replace(found, topics=replace(found.topics, readable=rows))

    patch.setattr(kind, "select", stale)


def beginning_forgotten(patch: Patch) -> None:
    """A full backup begins after the marker as it is when the snapshot is taken."""
    patch.setattr(kind, "needed_by_point", lambda case: None if case.spec.bracket is None else {})
    patch.setattr(bracket, "_find_problem", lambda *_, **__: None)


def idle_left_out(patch: Patch) -> None:
    """Topics that nobody writes to when it begins are not in it."""

    def narrow(observation: Any, wanted: Any, parent: Any, _: Any) -> BackupSelection:
        return select(observation, wanted, parent, None)

    patch.setattr(kind, "select", narrow)


def any_annotation(patch: Patch) -> None:
    """An annotation that was there before counts."""
    honest = bracket.begin

    def blind(case: Any, *others: Any) -> Any:
        annotations = {k: v for k, v in case.obj.metadata.annotations.items() if k != SNAPSHOT_ANNOTATION}
        metadata = case.obj.metadata.model_copy(update={"annotations": annotations})
        obj = type(case.obj)(metadata, case.obj.spec, case.obj.status)
        return honest(type(case)(case.kind, obj, case.spec, case.cluster, case.kafka, case.observed), *others)

    patch.setattr(kind, "begin", blind)


def never_times_out(patch: Patch) -> None:
    """Nobody minds how long it takes."""
    honest = bracket.await_snapshot
    patch.setattr(
        kind, "await_snapshot", lambda case, point: honest(case, point.model_copy(update={"held_time": case.now}))
    )


def snapshot_forgotten(patch: Patch) -> None:
    """Another attempt asks for another snapshot."""
    patch.setattr(kind.Backup, "kept_for_next", lambda *_: {})


def cut_allowed(patch: Patch) -> None:
    """A log that was cut is as good as it was."""
    patch.setattr(bracket, "_find_problem", lambda *_, **__: None)


def old_image_trusted(patch: Patch) -> None:
    """Whatever the job wrote is a restore point."""
    honest = Summary.model_validate_json

    def generous(text: str) -> Any:
        return honest(text).model_copy(update={"restore_point": "before-upgrade"})

    patch.setattr(Summary, "model_validate_json", generous)


def from_what_is_known_now(patch: Patch) -> None:
    """Where a topic begins is decided anew, and may be before what is held."""

    def anew(observation: Any, wanted: Any, parent: Any, bracketed: Any) -> BackupSelection:
        return select(observation, wanted, parent, None if bracketed is None else {})

    patch.setattr(kind, "select", anew)


MUTANTS: tuple[Mutant, ...] = (
    (ends_asked_before, stories.test_a_point_has_all_that_its_snapshot_may_need),
    (beginning_forgotten, stories.test_a_point_has_all_that_its_snapshot_may_need),
    (idle_left_out, stories.test_a_topic_that_no_region_writes_to_is_in_it_and_may_become_used_meanwhile),
    (any_annotation, stories.test_a_snapshot_that_was_there_before_the_log_was_held_does_not_count),
    (old_image_trusted, stories.test_an_image_that_knows_no_restore_points_makes_none),
    (
        rewritten(bracket, "_find_problem", "begins > row.reads_from", "False"),
        stories.test_a_topic_that_the_parent_does_not_have_must_be_there_from_the_beginning,
    ),
    (
        rewritten(
            bracket, "_find_problem", "topic.chain_start", "topic.start if topic.log_start == topic.start else None"
        ),
        of_chains.test_a_bracket_that_began_before_its_chain_costs_the_point,
    ),
    (
        rewritten(bracket, "_unless_chain_fits", "topic is None", "True"),
        of_chains.test_a_point_waits_until_it_is_known_what_its_chain_must_have,
    ),
    (
        rewritten(bracket, "_unless_chain_fits", "doubt is not None and", "False and"),
        of_chains.test_a_point_waits_until_it_is_known_what_its_chain_must_have,
    ),
    (from_what_is_known_now, stories.test_a_region_that_is_silent_after_the_snapshot_costs_nothing),
    (never_times_out, stories.test_a_snapshot_that_takes_too_long_makes_no_point),
    (snapshot_forgotten, stories.test_a_driver_that_dies_needs_no_other_snapshot),
    (cut_allowed, stories.test_a_hold_that_is_lost_meanwhile_costs_the_point_only_if_the_log_was_cut),
)


def test_every_guard_of_a_bracket_is_needed() -> None:
    assert not find_survivors(MUTANTS)
