"""The guards of what becomes of a run that cannot be read are taken away one by one. Prints the kills."""

from __future__ import annotations

from functools import partial

import pytest

from seawall.api.v1alpha1.purge import WALPurge
from seawall.controllers import backup as wal_backup
from seawall.domain import unreadable_spec
from seawall.domain.backup import kind, parent
from seawall.domain.purge import decide as purges
from seawall.domain.restore import decide as restores
from seawall.domain.restore import others, scratch_names
from seawall.domain.spark_job import decide as jobs
from seawall.observe import claims
from tests.kernel import test_unreadable_spec as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

KINDS = (purges, jobs, restores)


def stages_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Who is in a stage that nobody knows has not begun."""
    honest = WALPurge._parse_spec
    patch.setattr(WALPurge, "_parse_spec", classmethod(lambda _, raw, __: honest(raw, {})))


def stages_written_over(patch: pytest.MonkeyPatch) -> None:
    """What cannot be read of a status is not kept."""
    patch.setattr(
        WALPurge, "written", lambda _, status: status.model_dump(mode="json", by_alias=True, exclude_none=True)
    )


MUTANTS: tuple[Mutant, ...] = (
    *(
        (
            rewritten(unreadable_spec, "wait_or_end", "obj.status.stage is None and ", "", *KINDS),
            partial(stories.test_who_has_begun_waits_with_any_spec_that_this_version_cannot_read, begin),
        )
        for begin in stories.ALL
    ),
    *(
        (
            rewritten(unreadable_spec, "wait_or_end", " and not spec.only_unknown", "", *KINDS),
            partial(stories.test_who_has_not_begun_waits_for_a_version_that_knows_the_field, begin),
        )
        for begin in stories.ALL
    ),
    (
        rewritten(unreadable_spec, "wait_or_end", "if obj.status.stage is None and not", "if False and", *KINDS),
        partial(stories.test_what_nobody_can_begin_as_it_stands_ends, stories.a_purge),
    ),
    (
        rewritten(
            parent,
            "as_parent",
            "if cluster_name(found) !=",
            "if not isinstance(found.spec, WALBackupSpec) or cluster_name(found) !=",
            kind,
        ),
        stories.test_what_cannot_be_read_of_a_backup_is_no_reason_to_end_the_one_that_continues_it,
    ),
    (
        rewritten(
            parent,
            "sibling_of",
            "other.parent != parent.name",
            "getattr(other.spec, 'parent_ref', None) != parent",
            wal_backup,
        ),
        stories.test_a_parent_is_not_continued_twice_while_one_of_the_two_waits,
    ),
    (
        rewritten(
            scratch_names,
            "is_scratch",
            "return any(row.into is not None for row in restore.status.topics)",
            "return False",
            others,
            claims,
        ),
        stories.test_a_drill_that_waits_is_in_no_restores_way_and_a_restore_that_waits_is,
    ),
    (
        rewritten(
            scratch_names,
            "is_scratch",
            "return any(row.into is not None for row in restore.status.topics)",
            "return True",
            others,
            claims,
        ),
        stories.test_a_drill_that_waits_is_in_no_restores_way_and_a_restore_that_waits_is,
    ),
    (
        rewritten(others, "is_at_work", " or STAGE in restore.unreadable", "", claims),
        stories.test_a_restore_in_a_stage_that_this_version_does_not_know_is_at_work,
    ),
    (
        stages_forgotten,
        partial(stories.test_who_is_in_a_stage_that_this_version_does_not_know_waits_there, stories.a_purge),
    ),
    (
        stages_written_over,
        partial(stories.test_who_is_in_a_stage_that_this_version_does_not_know_waits_there, stories.a_purge),
    ),
)


def test_every_mutant_is_killed() -> None:
    assert find_survivors(MUTANTS) == []
