"""`seawall restore plan|approve`: what a person reads, and that only what they have read begins."""

from __future__ import annotations

import pytest

from seawall.api.meta import RESTORE_ANNOTATION
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.cli.restore import approval, describe
from seawall.domain.errors import Refused
from tests.worlds.restore_world import RestoreWorld, lost


def planned() -> RestoreWorld:
    world = lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    return world


def test_a_plan_is_shown_with_what_it_costs() -> None:
    world = planned()
    found = world.walrestore()
    assert found.status.plan is not None
    text = describe(found)
    assert text.splitlines() == [
        "WALRestore db/back: AwaitingApproval",
        f"Plan       {found.status.plan.digest}",
        "           plans/x.json at s3://wal/greptimedb",
        "Back       117 records of 3 topics, 11700 bytes at most",
        "Padding    24 records of null",
        "Lost       21 offsets at most",
        "",
        "  wal_0  the database reads from 1 and has entries below 47",
        "  wal_1  the database reads from 1 and has entries below 47",
        "  wal_2  the database reads from 1 and has entries below 47",
    ]


def test_only_the_plan_that_was_read_is_approved() -> None:
    world = planned()
    found = world.walrestore()
    assert found.status.plan is not None
    patch = approval(found, found.status.plan.digest)["metadata"]
    assert patch["resourceVersion"] == found.metadata.resource_version
    assert patch["annotations"] == {RESTORE_ANNOTATION: found.status.plan.digest}
    with pytest.raises(Refused, match=f"has digest {found.status.plan.digest}: read it again"):
        approval(found, "0" * 64)


def test_without_a_plan_there_is_nothing_to_read_or_approve() -> None:
    world = lost()
    world.bring_back()
    with pytest.raises(Refused, match="is not begun, and has no plan yet"):
        describe(world.walrestore())
    with pytest.raises(Refused, match="no plan waits for an approval"):
        approval(world.walrestore(), "0" * 64)
