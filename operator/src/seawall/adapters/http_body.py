"""The body of an HTTP answer, piece by piece as it comes, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Iterator

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import TimeoutError as HTTPTimeoutError

PIECE = 2**16
"""Bytes at most."""


def pieces(response: BaseHTTPResponse, until: float) -> Iterator[bytes]:
    """What is there, without waiting for more of it; the answer is closed at the end, and when it is late.

    A timeout of the socket counts anew with every byte: a trickle must not hold anybody for longer either.

    Args:
        response: an answer whose body was not read yet.
        until: the deadline, in seconds of time.monotonic().

    Raises:
        HTTPTimeoutError: it was not all there by then.
        HTTPError: the connection broke.
    """
    with response:
        while piece := response.read1(PIECE):
            if time.monotonic() > until:
                raise HTTPTimeoutError
            yield piece
