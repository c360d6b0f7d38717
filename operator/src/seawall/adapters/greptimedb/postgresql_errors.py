"""What goes wrong with PostgreSQL, as sentences that stay the same."""

from __future__ import annotations

from collections.abc import Sequence

from pg8000.exceptions import DatabaseError, InterfaceError
from scramp import ScramException

from seawall.adapters.greptimedb.sql_errors import Product, Sentences
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable, PostgresConnection

_OF = "metadataStore.postgresql"
RIGHTS = "SELECT on the table, EXECUTE on pg_control_system(), and INSERT and UPDATE where Seawall moves the markers"
_MEANINGS = {
    "28P01": (NotReached.AUTHENTICATION_FAILED, f"refused the user name or password: correct the Secret of {_OF}.auth"),
    "28000": (NotReached.AUTHENTICATION_FAILED, f"does not let us in ({{said}}): correct {_OF}, or its pg_hba.conf"),
    "25006": (NotReached.AUTHENTICATION_FAILED, "lets nobody write ({said}): end its default_transaction_read_only"),
    "42501": (NotReached.AUTHENTICATION_FAILED, f"does not let the user do this ({{said}}): it needs {RIGHTS}"),
    "3D000": (NotReached.UNEXPECTED_ANSWER, f"has no database {{database}}: correct {_OF}.database"),
    "3F000": (NotReached.UNEXPECTED_ANSWER, f"has no schema {{schema}}: correct {_OF}.schemaName"),
    "42P01": (
        NotReached.UNEXPECTED_ANSWER,
        "has no table {table} in its database {database}: correct schemaName and tableName",
    ),
}
"""By SQLSTATE."""
_PASSING = ("08", "25P03", "25P04", "40", "53", "55", "57", "58")
"""How a SQLSTATE begins: it starts or stops, has too many connections, somebody holds the table for too long, or we
said nothing for too long."""
POSTGRESQL = Product(
    name="PostgreSQL",
    declared=_OF,
    standby="standby",
    errors=(DatabaseError, InterfaceError, ScramException),
)


class PostgresSentences(Sentences):
    """What an error of one server means."""

    def __init__(self, address: tuple[str, int], connection: PostgresConnection) -> None:
        super().__init__(POSTGRESQL, address)
        self._connection = connection

    def _of_answer(self, chain: Sequence[BaseException]) -> PartUnavailable | PartRefused | None:
        said = next((each for each in chain if isinstance(each, DatabaseError)), None)
        return None if said is None else self._of_state(dict(said.args[0]))

    def _of_nonsense(self, chain: Sequence[BaseException]) -> PartRefused | None:
        error = chain[0]
        if "refuses SSL" in str(error):
            advice = f"turn its ssl on, or remove {_OF}.tls"
            return PartRefused(NotReached.TLS_FAILED, f"{self._where} speaks no TLS: {advice}")
        chain = chain if isinstance(error, InterfaceError) else [error]
        for each in chain:
            if isinstance(each, ScramException):
                sentence = f"{self._where} does not let us in ({each.args[0]}): correct the Secret of {_OF}.auth"
                return PartRefused(NotReached.AUTHENTICATION_FAILED, sentence)
        return self._other_protocol(chain)

    def _of_state(self, said: dict[str, str]) -> PartUnavailable | PartRefused:
        state, message, connection = said.get("C", ""), said.get("M", ""), self._connection
        if state.startswith(_PASSING):
            return self._passing(message)
        if state not in _MEANINGS:
            advice = f"is it PostgreSQL 13 or newer, and the table {connection.table_name} GreptimeDB's?"
            sentence = f"{self._where} refused a statement ({message}): {advice}"
            return PartRefused(NotReached.UNEXPECTED_ANSWER, sentence)
        why, meaning = _MEANINGS[state]
        names = {"database": connection.database, "schema": connection.schema, "table": connection.table_name}
        return PartRefused(why, f"{self._where} {meaning.format(said=message, **names)}")
