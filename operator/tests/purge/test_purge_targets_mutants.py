"""The guards of what a run keeps beside its status are taken away one by one: each story must then end badly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from seawall import observe
from seawall.api.meta import Key
from seawall.api.v1alpha1.purge import FrozenTargets, Stage, WALPurge
from seawall.controllers import purge as wal_purge
from seawall.controllers import targets
from seawall.domain import frozen_targets
from seawall.domain.frozen_targets import DATA_KEY, Target, Written
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.purge import decide, stages
from seawall.ports import Kube
from tests.fakes.kube import FakeKube
from tests.purge import test_purge_many_topics as many
from tests.purge import test_purge_targets as stories
from tests.support.mutants import Mutant, find_survivors

Patch = pytest.MonkeyPatch


def digest_ignored(patch: Patch) -> None:
    """What is read is not compared with what was recorded."""

    def believed(_: FrozenTargets, parts: Sequence[ConfigMap | None]) -> Mapping[str, Target]:
        return frozen_targets.decode_targets(b"".join(part.binary_data[DATA_KEY] for part in parts if part))

    patch.setattr(observe.reading, "thaw", believed)


def lost_is_nothing(patch: Patch) -> None:
    """A run whose targets are gone has seen nothing."""
    honest = observe.reading.read_targets

    def forgiving(kube: Kube, run: WALPurge) -> Mapping[str, Target]:
        try:
            return honest(kube, run)
        except frozen_targets.TargetsLost:
            return {}

    patch.setattr(observe.reading, "read_targets", forgiving)


def counted_unrecorded(patch: Patch) -> None:
    """What was written counts before the status names it."""
    honest, written = targets.write_targets, dict[str, Target]()

    def write(kube: Kube, run: WALPurge, found: Mapping[str, Target]) -> Written:
        written.update(found)
        return honest(kube, run, found)

    patch.setattr(wal_purge, "write_targets", write)
    patch.setattr(observe.reading, "read_targets", lambda *_: dict(written))


def recorded_in_its_turn(patch: Patch) -> None:
    """A run that has not come to that stage does not record what it wrote."""
    honest = decide._stage

    def later(case: stages.Case) -> stages.PurgeDecision:
        is_early = case.status.stage is Stage.PREPARATION
        return honest(replace(case, observed=replace(case.observed, written=None)) if is_early else case)

    patch.setattr(decide, "_stage", later)


def not_read_back(patch: Patch) -> None:
    """The status names what was written, whatever the API server has."""

    def write(kube: Kube, run: WALPurge, found: Mapping[str, Target]) -> Written:
        frozen, parts = frozen_targets.freeze(run, found)
        for part in parts:
            kube.write_config_map(run, part)
            kube.get_config_map(part.key)
        return Written(frozen, found)

    patch.setattr(wal_purge, "write_targets", write)


def one_name_for_all(patch: Patch) -> None:
    """A leader that slept replaces what another one recorded: parts are not named by what they hold."""
    honest, write = frozen_targets.parts_of, FakeKube.write_config_map

    def named(run: WALPurge, frozen: FrozenTargets) -> tuple[Key, ...]:
        return honest(run, frozen.model_copy(update={"digest": "0" * 32}))

    def overwrite(self: FakeKube, owner: Any, config_map: ConfigMap) -> None:
        if config_map.key in self.config_maps():
            self.remove_config_map(config_map.key)
        write(self, owner, config_map)

    patch.setattr(frozen_targets, "parts_of", named)
    patch.setattr(observe.reading, "parts_of", named)
    patch.setattr(FakeKube, "write_config_map", overwrite)


def refusals_as_named(patch: Patch) -> None:
    """What Kafka refused is known only as far as the status names it."""
    honest = wal_purge.WALPurgeController.observe
    patch.setattr(
        wal_purge.WALPurgeController, "observe", lambda self, obj: replace(honest(self, obj), refused_before={})
    )


def a_forged_one() -> None:
    stories.test_targets_that_are_lost_or_changed_end_the_run_and_nothing_more_is_deleted(
        stories.is_forged, restarts=False
    )


def a_removed_one() -> None:
    stories.test_targets_that_are_lost_or_changed_end_the_run_and_nothing_more_is_deleted(
        stories.is_removed, restarts=True
    )


def many_are_refused() -> None:
    with pytest.MonkeyPatch.context() as patch:
        many.test_more_refusals_than_a_status_names_are_all_counted_and_not_asked_again(patch, restarts=False)


MUTANTS: tuple[Mutant, ...] = (
    (digest_ignored, a_forged_one),
    (lost_is_nothing, a_removed_one),
    (
        counted_unrecorded,
        stories.test_evidence_counts_from_when_the_status_says_what_was_seen_and_not_from_when_it_was_written,
    ),
    (recorded_in_its_turn, stories.test_what_was_written_is_recorded_before_anything_else_is_begun),
    (not_read_back, stories.test_what_is_read_back_otherwise_is_not_recorded_and_is_written_anew),
    (one_name_for_all, stories.test_a_leader_that_slept_does_not_touch_what_the_next_one_recorded),
    (refusals_as_named, many_are_refused),
)


def test_every_guard_of_what_is_kept_beside_the_status_is_needed() -> None:
    assert not find_survivors(MUTANTS)
