"""Writes and reads what a run froze, in ConfigMaps of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from seawall.api.v1alpha1.wal_purge import FrozenTargets, WALPurge
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.frozen_targets import Target, TargetsLost, Written, freeze, parts_of, thaw
from seawall.ports import Kube


def write_targets(kube: Kube, run: WALPurge, targets: Mapping[str, Target]) -> Written:
    """Writes the ConfigMaps, and reads them back: the status may name them now.

    Raises:
        OutsideUnavailable: what is read back is not what was written.
    """
    frozen, parts = freeze(run, targets)
    for part in parts:
        with suppress(Conflict):  # it is named by what it holds: the answer to writing it was lost
            kube.write_config_map(run, part)
    try:
        return Written(frozen, _read(kube, run, frozen))
    except TargetsLost as lost:
        raise OutsideUnavailable(f"{lost}, right after they were written") from lost


def read_targets(kube: Kube, run: WALPurge) -> Mapping[str, Target]:
    """What the run's status says that it froze; nothing before it says so.

    Raises:
        TargetsLost: it is gone, or was changed.
    """
    frozen = run.status.frozen
    return {} if frozen is None else _read(kube, run, frozen)


def _read(kube: Kube, run: WALPurge, frozen: FrozenTargets) -> Mapping[str, Target]:
    return thaw(frozen, [kube.get_config_map(key) for key in parts_of(run, frozen)])
