"""Which sink a request is for."""

from __future__ import annotations

from sparkjob.errors import Refused
from sparkjob.request_file import parse_json
from wal_subscription.records import request as records
from wal_subscription.request import Request, parse_request
from wal_subscription.table import request as table


def parse_any(content: bytes) -> Request | records.RecordsRequest | table.TableRequest:
    """Reads a request.

    Raises:
        Refused: it is none, or for a sink that this program does not have.
    """
    match sink := parse_json(content).text_or_none("sink"):
        case None:
            return parse_request(content)
        case records.SINK:
            return records.parse_records_request(content)
        case table.SINK:
            return table.parse_table_request(content)
        case _:
            known = f"{records.SINK} nor {table.SINK}"
            raise Refused(f"request.sink is {sink}, and neither {known}; without it the log is mirrored")
