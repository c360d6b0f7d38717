"""The guards of the one disruption are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from seawall.api import resource
from seawall.api.v1alpha1 import cluster as clusters
from seawall.domain.datanodes.gate import DatanodeGate
from tests.datanodes import test_disruption as stories
from tests.support.mutants import Mutant, find_survivors


class _Everything(str):
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


def older_versions_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What an older version wrote is not read."""
    patch.setattr(clusters, "with_disruption", lambda status: status)


def other_kinds_ignored(patch: pytest.MonkeyPatch) -> None:
    """Whatever is disrupted is a datanode."""
    patch.setattr(DatanodeGate, "kind", property(lambda _: _Everything()))


def unreadable_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What cannot be read is not there."""
    patch.setattr(clusters, "read_disruption", lambda _: None)


def rest_forgotten(patch: pytest.MonkeyPatch) -> None:
    """One part that does not fit hides all others."""

    def read(model: Any, raw: Any) -> Any:
        try:
            return model.model_validate(raw), {}
        except ValidationError:
            return model(), {}

    patch.setattr(resource, "read_fitting", read)


MUTANTS: tuple[Mutant, ...] = (
    (older_versions_forgotten, stories.test_a_roll_goes_on_wherever_an_older_version_was),
    (older_versions_forgotten, stories.test_what_an_older_version_wrote_is_written_no_more),
    (
        other_kinds_ignored,
        stories.test_nothing_is_begun_beside_a_disruption_of_another_kind_which_stays_as_it_was_written,
    ),
    (unreadable_forgotten, lambda: stories.test_a_disruption_that_cannot_be_read_is_somebodys("text")),
    (
        rest_forgotten,
        stories.test_a_datanode_that_goes_is_remembered_although_another_part_of_the_status_does_not_fit,
    ),
)


def test_each_guard_of_the_disruption_is_needed() -> None:
    assert not find_survivors(MUTANTS)
