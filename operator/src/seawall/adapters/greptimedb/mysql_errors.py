"""What goes wrong with MySQL, as sentences that stay the same."""

from __future__ import annotations

from collections.abc import Sequence

from pymysql import MySQLError

from seawall.adapters.greptimedb.sql_errors import Product, Sentences
from seawall.domain.dataplane.connection import MySQLConnection, NotReached, PartRefused, PartUnavailable

_OF = "metadataStore.mysql"
RIGHTS = (
    "SELECT on the table, REPLICATION CLIENT on *.*, and INSERT and UPDATE on the table where Seawall moves the markers"
)
_DENIED = f"does not let the user do this ({{said}}): it needs {RIGHTS}"
_NO_TABLE = "has no table {table}: correct database and tableName"
_AUTHENTICATION, _UNEXPECTED = NotReached.AUTHENTICATION_FAILED, NotReached.UNEXPECTED_ANSWER
_LOGIN = (
    _AUTHENTICATION,
    f"refused the user name or password, or wants TLS or a client certificate of this user: correct {_OF}",
)
_MEANINGS = {
    1045: _LOGIN,
    1698: _LOGIN,
    1044: (_AUTHENTICATION, _DENIED),
    1130: (_AUTHENTICATION, "does not let us in ({said}): correct the host of its user"),
    1142: (_AUTHENTICATION, _DENIED),
    1143: (_AUTHENTICATION, _DENIED),
    1227: (_AUTHENTICATION, _DENIED),
    1290: (_AUTHENTICATION, "lets nobody write ({said}): end its read_only"),
    1836: (_AUTHENTICATION, "lets nobody write ({said}): end its read_only"),
    3159: (NotReached.TLS_FAILED, f"wants TLS: set {_OF}.tls"),
    1049: (_UNEXPECTED, _NO_TABLE),
    1146: (_UNEXPECTED, _NO_TABLE),
}
"""By the server's code."""
HELD = (1205, 1213, 3572)
"""Somebody holds a row (for too long, in a circle, or at all where we do not wait)."""
_PASSING = (*HELD, 1040, 1053, 1129, 1152, 1158, 1159, 1160, 1161, 1203, 1226, 1317, 1412, 3024, 3032, 3101, 4031)
"""It starts or stops, has too many connections, somebody holds a row, the table is being made anew, or we said nothing
for too long."""
_OF_CLIENT, _AFTER_CLIENT, _NO_TLS = 2000, 3000, 2026
"""Codes that the client library gives by itself."""


class ReadOnly(Exception):  # noqa: N818 - never leaves the adapter
    """Nobody may write to it: most often, it is a replica."""


class Unfit(Exception):  # noqa: N818 - never leaves the adapter
    """It is no such MySQL as Seawall can read; the sentence says what of."""


MYSQL = Product(
    name="MySQL",
    declared=_OF,
    standby="replica",
    errors=(MySQLError, RuntimeError, ReadOnly, Unfit),
)


class MysqlSentences(Sentences):
    """What an error of one server means."""

    def __init__(self, address: tuple[str, int], connection: MySQLConnection) -> None:
        super().__init__(MYSQL, address)
        self._connection = connection

    def _of_answer(self, chain: Sequence[BaseException]) -> PartUnavailable | PartRefused | None:
        for each in chain:
            match each:
                case Unfit():
                    return PartRefused(_UNEXPECTED, f"{self._where} {each}")
                case MySQLError(args=(int(code), message)) if not _OF_CLIENT <= code < _AFTER_CLIENT:
                    return self._of_code(code, str(message))
        return None

    def _of_nonsense(self, chain: Sequence[BaseException]) -> PartRefused | None:
        for each in chain:
            match each:
                case MySQLError(args=(code, _)) if code == _NO_TLS:
                    sentence = f"{self._where} has no TLS, and gets no password without: turn its TLS on"
                    return PartRefused(NotReached.TLS_FAILED, sentence)
                case MySQLError(args=(str(),)) | RuntimeError():
                    return self._other_protocol([ValueError()])
        return self._other_protocol([each for each in chain if not isinstance(each, MySQLError)])

    def _silence(self, error: BaseException) -> str | None:
        if isinstance(error, ReadOnly):
            return (
                f"is read_only, as replicas are, which may lag: name the primary in {_OF}.hosts, or end its read_only"
            )
        return super()._silence(error)

    def _of_code(self, code: int, message: str) -> PartUnavailable | PartRefused:
        if code in _PASSING:
            return self._passing(message)
        if code not in _MEANINGS:
            advice = f"is the table {self._connection.table_name} GreptimeDB's?"
            sentence = f"{self._where} refused a statement ({message}): {advice}"
            return PartRefused(_UNEXPECTED, sentence)
        why, meaning = _MEANINGS[code]
        return PartRefused(why, f"{self._where} {meaning.format(said=message, table=self._connection.table_name)}")
