"""An S3 server for all tests of tables, beside the two Kafkas of mirrors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seawall_e2e.loopback.s3 import S3Process


@pytest.fixture(scope="session")
def bucket_server(beds: str) -> Iterator[S3Process]:
    """The server."""
    with S3Process() as server:
        yield server
