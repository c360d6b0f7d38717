"""What people declare by annotations of a WALCluster."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.meta import DEAD_ANNOTATION, READOPT_ANNOTATION, UNUSED_ANNOTATION
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.clocks import TrustedTime
from seawall.domain.ledger.dead import DeadRegions, parse_dead
from seawall.domain.ledger.fence import Readoption, parse_readoption
from seawall.domain.ledger.licence import Licence
from seawall.domain.ledger.unused import Unused, parse_unused
from seawall.ports import Clock


@dataclass(frozen=True, slots=True)
class Declarations:
    """All of them at one time. None: there is no such annotation, or it declares nothing and its problem says why."""

    readoption: Readoption | None
    readopt_problem: str | None
    unused: Unused | None
    unused_problem: str | None
    dead: DeadRegions | None
    dead_problem: str | None


def read_declarations(cluster: WALCluster, time: TrustedTime) -> Declarations:
    """Reads the annotations. One that is over by either clock counts for nothing, and none does while they disagree."""
    found = cluster.metadata.annotations
    readopt, unused, dead = (found.get(name) for name in (READOPT_ANNOTATION, UNUSED_ANNOTATION, DEAD_ANNOTATION))
    adoption = None if readopt is None else parse_readoption(readopt)
    topics = None if unused is None else parse_unused(unused, time)
    regions = None if dead is None else parse_dead(dead, time)
    return Declarations(
        readoption=adoption if isinstance(adoption, Readoption) and adoption.stands(time) else None,
        readopt_problem=adoption.problem_by(time) if isinstance(adoption, Readoption) else adoption,
        unused=topics if isinstance(topics, Unused) else None,
        unused_problem=topics if isinstance(topics, str) else None,
        dead=regions if isinstance(regions, DeadRegions) else None,
        dead_problem=regions if isinstance(regions, str) else None,
    )


def current_licence(cluster: WALCluster, clock: Clock, *, follows_readopt: bool) -> Licence:
    """The declarations that count now."""
    said = read_declarations(cluster, clock.trusted())
    adoption = said.readoption if follows_readopt and said.readopt_problem is None else None
    return Licence(said.unused, said.dead, adoption)
