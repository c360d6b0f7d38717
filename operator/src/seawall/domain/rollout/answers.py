"""Which database answers at the address where maintenance was turned on.

A name leads elsewhere at any time. Maintenance counts as off only by the word of the database in which it was turned
on. The status remembers that by the id of its metadata store, and three things speak against it:

    the address is the spec's, and metasrv, store and frontend are not of one database, or it is another store
    the store is the remembered one, and has the switch on: a metasrv that says off keeps its own elsewhere

Of an address that the spec no longer names, and of one without the store, only the metasrv's answer is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.restart import Maintenance
from seawall.domain.dataplane.metadata import StoredMaintenance
from seawall.domain.rollout.facts import Facts


@dataclass(frozen=True, slots=True)
class Answers:
    """What is asked after the metasrv has answered, and says whose answer that was.

    Attributes:
        contradiction: why what answers at the spec's addresses is not the pinned database, in one clause; None: nothing
            says so.
        store: what the spec's metadata store has; None: it was not asked, or did not answer.
    """

    contradiction: str | None = None
    store: StoredMaintenance | None = None


def why_other_database(facts: Facts, lease: Maintenance | None, answers: Answers) -> str | None:
    """Why the answer is not that of the database in which maintenance was turned on, in one clause; None: it may be."""
    is_the_specs = lease is None or lease.metasrv in {None, facts.metasrv}
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
