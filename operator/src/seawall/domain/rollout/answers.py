"""Which database answers at the address where maintenance was turned on.

A name leads elsewhere at any time. Maintenance counts as off only by the word of the database in which it was turned
on. The status remembers that by the id of its metadata store, and three things speak against it:

    the address is the spec's, and metasrv, store and frontend are not of one database, or it is another store
    the store is the remembered one, and has the switch on: a metasrv that says off keeps its own elsewhere

Of an address that the spec no longer names only the metasrv's answer is known, if the store is another one, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from seawall.api.v1alpha1.rollout import Maintenance
from seawall.domain.dataplane.metadata import StoredMaintenance
from seawall.domain.rollout.facts import Facts


@dataclass(frozen=True, slots=True)
class Answers:
    """What is asked after the metasrv has answered, and says whose answer that was.

    Attributes:
        contradiction: why what answers at the spec's addresses is not the pinned database, in one clause; None: nothing
            says so.
        store: what the spec's metadata store has; None: it was not asked, does not let us read that, or is silent.
        is_store_silent: it was asked, and did not answer.
    """

    contradiction: str | None = None
    store: StoredMaintenance | None = None
    is_store_silent: bool = False


def with_witnesses(facts: Facts, lease: Maintenance | None, answers: Answers) -> Facts:
    """The facts without the metasrv's answer, where it is another database's; "off" needs a store that answers."""
    other = why_other_database(facts, lease, answers)
    if other is not None:
        return replace(facts, in_maintenance=None, other_database=other)
    is_unproven = answers.is_store_silent and facts.in_maintenance is False and _is_the_specs(facts, lease)
    return replace(facts, in_maintenance=None) if is_unproven else facts


def why_other_database(facts: Facts, lease: Maintenance | None, answers: Answers) -> str | None:
    """Why the answer is not that of the database in which maintenance was turned on, in one clause; None: it may be."""
    is_the_specs = _is_the_specs(facts, lease)
    if is_the_specs and answers.contradiction is not None:
        return answers.contradiction
    store, database = answers.store, facts.database if lease is None else lease.database or facts.database
    if database is None or store is None:
        return None
    if store.store_id != database:
        other = f"the metadata store is {store.store_id}, and it is {database} that was put into maintenance"
        return other if is_the_specs else None
    if store.is_on and facts.in_maintenance is False:
        return f"the metasrv says that maintenance is off, and the metadata store {database} that it is on"
    return None


def _is_the_specs(facts: Facts, lease: Maintenance | None) -> bool:
    return lease is None or lease.metasrv in {None, facts.metasrv}
