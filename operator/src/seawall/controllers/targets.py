"""Writes what a run froze, to ConfigMaps of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.frozen_targets import Target, TargetsLost, Written, freeze
from seawall.observe.reading import read_frozen
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
        return Written(frozen, read_frozen(kube, run, frozen))
    except TargetsLost as lost:
        raise OutsideUnavailable(f"{lost}, right after they were written") from lost
