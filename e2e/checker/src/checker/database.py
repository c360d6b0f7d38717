"""The database as the checker sees it: POST /v1/sql, with consistent cuts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import urllib3

from checker.ledger import Ack
from checker.rows import SELECT, Batch, Row, create_table

NO_ANSWER = 0
"""In place of a code: no connection, no answer in time, or one that is no JSON."""


class Refused(Exception):  # noqa: N818 - named for what happened
    """A statement failed; what it wanted to write may be written all the same."""

    def __init__(self, code: int, error: str) -> None:
        super().__init__(f"code {code}: {error}")
        self.code, self.error = code, error


@dataclass(frozen=True, slots=True)
class Cut:
    """All rows of the table, and for each region the entry up to which they are: none before it is missing."""

    rows: list[Row]
    applied: dict[int, int]


class Database:
    """A frontend."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = f"{url}/v1/sql"
        self._pool = urllib3.PoolManager(
            maxsize=16, retries=False, timeout=urllib3.Timeout(connect=min(2.0, timeout), read=timeout)
        )

    def create_table(self, partitions: int) -> None:
        """Makes the table unless it is there."""
        self._ask(create_table(partitions))

    def insert(self, batch: Batch) -> Ack:
        """Writes a batch; returns only when it is acknowledged."""
        regions = self._ask(batch.insert())["regions"]
        if [region["rows"] for region in regions] != [batch.count]:
            raise AssertionError(f"{batch.name} is one entry of one region, but was acknowledged as {regions}")
        (region,) = regions
        return Ack(region["region_id"], region["topic"], region["entry_id"])

    def read(self) -> Cut:
        """Reads the whole table at one moment of each region."""
        answer = self._ask(SELECT)
        rows = [Row(*row) for row in answer["output"][0]["records"]["rows"]]
        return Cut(rows, {region["region_id"]: region["applied_entry_id"] for region in answer["regions"]})

    def _ask(self, sql: str) -> Any:
        try:
            answer = self._pool.request(
                "POST", self._url, fields={"sql": sql, "consistent_cut": "1"}, encode_multipart=False
            )
            data = json.loads(answer.data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise Refused(NO_ANSWER, f"the database does not answer ({type(error).__name__})") from None
        if "code" in data:
            raise Refused(int(data["code"]), str(data["error"]))
        return data
