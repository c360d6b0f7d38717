"""Which names of tables a run is told, and for how long it keeps them: another run starts Spark from the beginning.

    what is another                                    another run
    -------------------------------------------------  -------------------------------------------------------------
    the selection; the name of a table that it knows,  at once: rows would be handed on that are not meant, or not be,
    or whether that is selected                        or have a name of before
    a table was dropped                                none: nothing of it comes any more
    a table was made, and not everything is selected   when it is met: the application stops before its first row
                                                       (TableUnknown), and `namesKnownTo` is another
    a table was made, and everything is selected       once a run has lasted a while: until then `table` of its rows
                                                       is null

What is in neither list is judged by `namesKnownTo`, with which the lists were read: so they stay true together.
"""

from __future__ import annotations

from collections.abc import Mapping

from seawall.api.v1alpha1.subscription_sinks import TableSelection
from seawall.domain.subscription.case import Case
from seawall.domain.subscription.frozen_run import Tables, frozen_run
from seawall.domain.times import SUBSCRIPTION_NAMES_ANEW


def frozen_tables(case: Case, names: Mapping[int, str]) -> dict[str, object] | None:
    """The `tables` of the request that is there; None: there is none of this subscription, or they are not true."""
    found = frozen_run(case)
    tables = None if found is None else found.tables
    if tables is None or not are_true(tables, case.spec.selection, names):
        return None
    return tables.model_dump(mode="json", by_alias=True)


def are_true(tables: Tables, selection: TableSelection, names: Mapping[int, str]) -> bool:
    """Whether nothing that a request says of tables is otherwise by now; of those that are gone it says nothing."""
    if (tables.include, tables.exclude) != (selection.include, selection.exclude):
        return False
    is_named = all(names.get(table.id, table.name) == table.name for table in tables.known)
    return is_named and not any(table in names and selection.selects(names[table]) for table in tables.not_selected)


def are_due(case: Case) -> bool:
    """Whether what runs gives way to another run for nothing but tables that were made; where nothing runs none has to.

    One that is over has said why, which is heard first.
    """
    application = case.own_application
    if not case.spec.selection.is_everything:
        return False
    if application is None:
        return True
    return not application.is_over and case.now >= application.created_at + SUBSCRIPTION_NAMES_ANEW
