"""What keeps the rest of a status of which a leaf does not fit is taken away: each story then ends badly."""

from __future__ import annotations

import pytest

from seawall.api.v1alpha1 import cluster as cluster_module
from seawall.api.v1alpha1 import data_plane_status, managed_kafka_status, rollout
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers import reassignment
from seawall.domain.cluster import verdict
from seawall.domain.reassignment import decide
from tests.cluster import test_unreadable_status as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten


def kept_nothing(patch: pytest.MonkeyPatch) -> None:
    """What cannot be read is not written again."""
    patch.setattr(WALCluster, "KEPT", frozenset())


def nobody_says_so(patch: pytest.MonkeyPatch) -> None:
    """People are told that it is being planned."""
    patch.setattr(verdict, "is_unreadable", lambda _: False)


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(
            data_plane_status,
            "read_pinned_database",
            "read_fitting(DataPlaneStatus, raw)",
            'read_fitting(DataPlaneStatus, {"identity": raw.get("identity")})',
            cluster_module,
        ),
        stories.test_what_is_pinned_of_the_database_stays_beside_a_leaf_that_does_not_fit,
    ),
    (
        rewritten(data_plane_status, "read_pinned_database", "readopt is not None", "readopt is None", cluster_module),
        lambda: stories.test_a_readoption_that_may_have_been_met_is_not_met_again("much"),
    ),
    (
        rewritten(decide, "decide", "if is_unreadable(cluster)", "if False", reassignment),
        stories.test_a_run_that_cannot_be_read_stays_as_it_is_until_it_can,
    ),
    (
        rewritten(
            decide,
            "decide",
            "if is_unreadable(cluster)",
            "if is_unreadable(cluster) and cluster.metadata.deletion_timestamp is None",
            reassignment,
        ),
        stories.test_a_walcluster_goes_although_its_run_cannot_be_read,
    ),
    (
        rewritten(decide, "_of_another_version", "REASSIGNMENT_FINALIZER not in cluster.metadata.finalizers", "False"),
        stories.test_a_walcluster_whose_finalizer_is_gone_is_not_let_go_twice,
    ),
    (
        nobody_says_so,
        stories.test_a_run_that_cannot_be_read_stays_as_it_is_until_it_can,
    ),
    (
        rewritten(
            managed_kafka_status, "read_managed_kafka", "if type(each) is int and each >= 0", "if False", cluster_module
        ),
        stories.test_ids_that_were_used_are_known_although_one_of_them_is_none,
    ),
    (
        rewritten(
            rollout, "read_restart", "if isinstance(raw, Mapping) else None", "if False else None", cluster_module
        ),
        lambda: stories.test_maintenance_is_known_although_something_else_of_the_roll_does_not_fit("datanodes"),
    ),
    (
        kept_nothing,
        stories.test_a_run_that_cannot_be_read_stays_as_it_is_until_it_can,
    ),
)


def test_every_guard_that_is_taken_away_is_missed() -> None:
    assert find_survivors(MUTANTS) == []
