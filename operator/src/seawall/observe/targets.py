"""Reads what a run froze, from ConfigMaps of its own."""

from __future__ import annotations

from collections.abc import Mapping

from seawall.api.v1alpha1.purge import FrozenTargets, WALPurge
from seawall.domain.frozen_targets import Target, parts_of, thaw
from seawall.ports import Kube


def read_targets(kube: Kube, run: WALPurge) -> Mapping[str, Target]:
    """What the run's status says that it froze; nothing before it says so.

    Raises:
        TargetsLost: it is gone, or was changed.
    """
    frozen = run.status.frozen
    return {} if frozen is None else read_frozen(kube, run, frozen)


def read_frozen(kube: Kube, run: WALPurge, frozen: FrozenTargets) -> Mapping[str, Target]:
    """What is in the ConfigMaps that have these digests.

    Raises:
        TargetsLost: it is gone, or was changed.
    """
    return thaw(frozen, [kube.get_config_map(key) for key in parts_of(run, frozen)])
