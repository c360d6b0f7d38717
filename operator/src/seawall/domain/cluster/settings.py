"""Whether the database runs with the `[wal]` that a WALCluster declares: the condition DataPlaneConfigDiffers.

What runs decides (`ledger/mode.py`); this tells people. It is asked of the metasrv that answers: of several behind one
address it is one of them, so all must have the same settings. Datanodes are asked one by one, where they can be
reached; nothing is decided by what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seawall.api.meta import Condition, ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.domain.cluster.contract import contract_conditions
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.greptimedb_cluster import GreptimeDBCluster
from seawall.domain.dataplane.pasted import not_pasted
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.dataplane.wal_settings import (
    Declared,
    DeclaredOfDatanodes,
    WALSettings,
    datanode_differences,
    differences,
)
from seawall.domain.ledger.mode import cure_of
from seawall.domain.step import Event, EventType
from seawall.domain.text import few
from seawall.domain.walconfig.render import render_wal_config

KIND = ConditionType.DATA_PLANE_CONFIG_DIFFERS
MOST_NAMED = 4
SHOWN = 5
"""Datanodes whose ids are in a message."""


def settings_conditions(
    cluster: WALCluster, observed: Observed, build: Callable[..., Condition]
) -> tuple[Condition, ...]:
    """The condition, or none where no database is declared. Before the first look ended, what was known stands."""
    if not isinstance(cluster.spec, InvalidSpec) and cluster.spec.http is not None:
        return contract_conditions(cluster, cluster.spec.topics, observed, build)
    if isinstance(cluster.spec, InvalidSpec) or cluster.spec.greptimedb is None:
        return ()
    greptimedb, topics = cluster.spec.greptimedb, cluster.spec.topics
    declared = Declared(
        topic_name_prefix=topics.prefix,
        num_topics=topics.count,
        prunes=greptimedb.auto_prune.prunes,
        logical_delete=greptimedb.auto_prune.is_logical,
    )
    version = observed.declared_version(greptimedb.version)
    case = Case(cluster.metadata.key, cluster.spec, declared, version, observed)
    return (_found(cluster, case, build),)


@dataclass(frozen=True, slots=True)
class Case:
    """What is declared, and what was observed."""

    cluster: Key
    spec: WALClusterSpec
    declared: Declared
    version: str | None
    """As it is declared, or as the GreptimeDBCluster's image is called."""
    observed: Observed


def _found(cluster: WALCluster, case: Case, build: Callable[..., Condition]) -> Condition:
    before = find_condition(cluster.status.conditions, KIND)
    pasted = _not_pasted(case)
    match case.observed.data_plane:
        case None | NoDataPlane() if pasted is not None:
            return build(KIND, "True", Reason.CONFIG_NOT_PASTED, pasted)
        case None if before is not None and before.observed_generation == cluster.metadata.generation:
            return before
        case None:
            return build(KIND, "Unknown", Reason.NOT_ASKED, "the first look at the data plane has not ended yet")
        case NoDataPlane():
            return build(KIND, "Unknown", Reason.SETTINGS_UNKNOWN, "the data plane does not answer")
        case DataPlaneView() as view if view.wal is not None:
            return _compared(case, view, view.wal, build)
        case DataPlaneView():
            return build(KIND, "Unknown", Reason.SETTINGS_UNKNOWN, "the metasrv does not answer GET /config")


def _compared(case: Case, view: DataPlaneView, wal: WALSettings, build: Callable[..., Condition]) -> Condition:
    found = differences(wal, case.declared)
    listed = "; ".join(map(str, found))
    if wal.deletes:
        cure = cure_of(view.version or case.version or "")
        said = f"; {listed}" if found else ""
        said = "".join([said, *(f"; {each}" for each in _of_datanodes(case.spec, view))])
        message = f"the database deletes records by itself, through any hold: set {cure} in every metasrv's [wal]{said}"
        return build(KIND, "True", Reason.SECOND_PRUNER, message)
    differing = [f"in the metasrv's [wal] {listed}"] if found else []
    differing += _of_datanodes(case.spec, view)
    pasted = _not_pasted(case)
    if pasted is not None:
        return build(KIND, "True", Reason.CONFIG_NOT_PASTED, "; ".join([pasted, *differing]))
    if differing:
        return build(KIND, "True", Reason.CONFIG_DIFFERS, f"{'; '.join(differing)}; what runs counts{_unread(view)}")
    datanodes = f", and that of {_counted(len(view.datanode_wal))}" if view.datanode_wal else ""
    return build(KIND, "False", Reason.AS_DECLARED, f"the metasrv's [wal] is as declared{datanodes}{_unread(view)}")


def _of_datanodes(spec: WALClusterSpec, view: DataPlaneView) -> list[str]:
    config, topics = spec.wal_config, spec.topics
    batch = topics.max_message_bytes if config is None else config.batch_bytes(topics)
    found = datanode_differences(view.datanode_wal, DeclaredOfDatanodes(batch, is_rendered=config is not None))
    return [f"in the [wal] of {_named(datanodes)} {difference}" for difference, datanodes in found.items()]


def _named(datanodes: Sequence[int]) -> str:
    return f"datanode{'s' if len(datanodes) != 1 else ''} {few(datanodes, SHOWN)}"


def _unread(view: DataPlaneView) -> str:
    """One that cannot be asked is no fault: its port may be closed to Seawall on purpose."""
    silent = view.reporting - len(view.datanode_wal)
    return f"; {_counted(silent)} not read (GET /config)" if silent > 0 else ""


def _counted(datanodes: int) -> str:
    return "1 datanode" if datanodes == 1 else f"{datanodes} datanodes"


def _not_pasted(case: Case) -> str | None:
    """What of the rendered `[wal]` a GreptimeDBCluster lacks, and where to paste it; None: nothing."""
    found, spec = case.observed.named_cluster, case.spec
    if not isinstance(found, GreptimeDBCluster) or spec.wal_config is None:
        return None
    rendered = render_wal_config(case.cluster, spec, case.version)
    lacking = not_pasted(found, rendered)
    if not lacking:
        return None
    listed = "; ".join(f"in {where} {difference}" for where, difference in lacking[:MOST_NAMED])
    more = f" (and {len(lacking) - MOST_NAMED} more)" if len(lacking) > MOST_NAMED else ""
    name = spec.wal_config.config_map_name
    return (
        f"GreptimeDBCluster {found.key.name}: {listed}{more}; paste [wal] of ConfigMap {name}: metasrv.toml into"
        " spec.meta.config, datanode.toml into the config of the datanodes"
    )


def settings_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when it begins to differ, differs otherwise, or is as declared again."""
    was, now = find_condition(cluster.status.conditions, KIND), find_condition(status.conditions, KIND)
    if now is None or (was is not None and (was.status, was.reason) == (now.status, now.reason)):
        return None
    if now.status == "True":
        return Event(EventType.WARNING, now.reason, now.message)
    if now.status == "False" and was is not None and was.status == "True":
        return Event(EventType.NORMAL, now.reason, now.message)
    return None
