"""HTTP to the parts of a data plane: every answer has a deadline, every silence a sentence that stays the same."""

from __future__ import annotations

import ssl
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import Any

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    SSLError,
)
from urllib3.exceptions import (
    TimeoutError as HTTPTimeoutError,
)

from seawall.adapters.http_body import pieces
from seawall.adapters.http_deadline import cuttable, deadline
from seawall.adapters.times import HTTP_ANSWER_SECONDS, HTTP_CONNECT_SECONDS
from seawall.adapters.tls import UnreadablePem, tls_context, tls_sentence
from seawall.domain.dataplane.connection import ClientTLS, NotReached, PartRefused, PartUnavailable, User
from seawall.progress import request_ended

MAX_BYTES = 80 * 2**20
"""No more of an answer is read: the largest is a metasrv's, 1.3 kB for each region, so this is some 64,000 regions.

Reading one takes up to 1.4 times its size (measured: 1.06 to 1.38 for 70,000 regions on 30 to 1 datanodes), observing
so many regions 0.35 times of it more (0.44 of 1.3 kB), two observations may do that at once, and the process takes up
to 170 MiB besides (with 1,000 topics): 170 + 2 * 1.75 * 80 = 450 MiB, and the chart's limit is 512Mi. Each further
database of that size takes 280 MiB more (value resources.limits.memory)."""
SHOWN = 200


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the data plane: its name in sentences, where address and TLS are declared, its silence's reason."""

    name: str
    declared: str
    silent: NotReached
    tls: str


def basic_header(user: User | None, part: str, declared: str) -> Mapping[str, str]:
    """The header of HTTP Basic authentication, in UTF-8; none without a user.

    Args:
        user: name and password.
        part: the part of the data plane that wants the user, in sentences.
        declared: where the user is declared.

    Raises:
        PartRefused: the name has a colon, at which it would end.
    """
    if user is None:
        return {}
    if ":" in user.name:
        message = f"a user name for {part} cannot have a colon: correct the Secret of {declared}"
        raise PartRefused(NotReached.AUTHENTICATION_FAILED, message)
    return {"Authorization": f"Basic {b64encode(f'{user.name}:{user.password}'.encode()).decode()}"}


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body."""

    status: int
    body: bytes

    @property
    def is_ok(self) -> bool:
        """Whether the status is 200."""
        return self.status == HTTPStatus.OK

    def shown(self) -> str:
        """Status and the start of the body, for a sentence.

        Neither an error nor what was asked for may be just that, rewritten by a proxy: settings, or a token.
        """
        may_be_meant = not self.is_ok and self.status < HTTPStatus.BAD_REQUEST
        said = b"" if may_be_meant else self.body[:SHOWN]
        return f"{self.status} {said.decode(errors='replace')}".strip()


class Http:
    """Requests to one part; safe to use from many threads. It follows no redirects and keeps connections open."""

    def __init__(
        self, part: Part, *, tls: ssl.SSLContext | None = None, connections: int = 4, max_bytes: int = MAX_BYTES
    ) -> None:
        self.part, self._max_bytes = part, max_bytes
        options: dict[str, Any] = {} if tls is None else {"ssl_context": tls}
        self._pool = cuttable(urllib3.PoolManager(maxsize=connections, retries=False, **options))

    def close(self) -> None:
        """Closes what is kept open; what waits for an answer gets it, and is closed then."""
        self._pool.clear()

    def get(self, url: str, *, seconds: float = HTTP_ANSWER_SECONDS) -> Answer:
        """GET.

        Raises:
            PartUnavailable: there is no answer, or not the whole of it.
            PartRefused: there cannot be one: TLS or the URL make no sense.
        """
        return self._request("GET", url, seconds, {})

    def post(
        self,
        url: str,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        seconds: float = HTTP_ANSWER_SECONDS,
    ) -> Answer:
        """POST; raises as `get` does. Without an answer, nobody knows whether it happened."""
        return self._request("POST", url, seconds, {"body": body, "headers": dict(headers or {})})

    def request(self, method: str, url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        """Any method; raises as `get` does. Without an answer, nobody knows whether it happened."""
        return self._request(method, url, seconds, {"body": body or None, "headers": dict(headers)})

    def _request(self, method: str, url: str, seconds: float, options: dict[str, Any]) -> Answer:
        until = time.monotonic() + seconds
        timeout = urllib3.Timeout(connect=min(HTTP_CONNECT_SECONDS, seconds), read=seconds)
        try:
            with deadline(seconds):
                response = self._pool.request(
                    method, url, timeout=timeout, redirect=False, preload_content=False, decode_content=True, **options
                )
                with response:
                    return Answer(response.status, self._body(response, until))
        except (HTTPError, OSError) as error:
            raise self._translated(url, error, seconds) from error
        finally:
            request_ended()

    def _body(self, response: urllib3.BaseHTTPResponse, until: float) -> bytes:
        body = BytesIO()
        for piece in pieces(response, until):
            body.write(piece)
            if body.tell() > self._max_bytes:
                raise PartRefused(NotReached.UNEXPECTED_ANSWER, self._too_large())
        return body.getvalue()

    def _too_large(self) -> str:
        size = f"{self.part.name} answers more than {self._max_bytes // 2**20} MiB"
        return f"{size}, and Seawall reads no more, lest it run out of memory: is this database meant to be so large?"

    def _translated(self, url: str, error: Exception, seconds: float) -> PartUnavailable | PartRefused:
        where = f"{self.part.name} at {url_of(url)}"
        tls_error = error if isinstance(error, ssl.SSLError) else _wrapped(error)
        if isinstance(error, ProtocolError | ConnectionError) or _is_eof(tls_error):
            advice = "check http:// or https://, and whether it wants a client certificate"
            return PartUnavailable(self.part.silent, f"{where} closes connections: {advice}")
        if isinstance(error, SSLError | ssl.SSLError):
            return PartRefused(NotReached.TLS_FAILED, f"{where}: {tls_sentence(tls_error, self.part.tls)}")
        if isinstance(error, LocationParseError | NameResolutionError):
            advice = f"correct {self.part.declared}, or the DNS"
            return PartUnavailable(self.part.silent, f"{where} has no IP address: {advice}")
        advice = "check that it runs and that network policies let Seawall in"
        return PartUnavailable(self.part.silent, f"{where} does not answer ({_silence(error, seconds)}): {advice}")


def context_for(part: Part, url: str, tls: ClientTLS) -> ssl.SSLContext | None:
    """Verifies names, by the given CA or the system's; None for an http:// URL.

    Raises:
        PartRefused: a text is no PEM, or certificate and key do not fit.
    """
    return client_context(part.name, tls) if url.startswith("https://") else None


def client_context(name: str, tls: ClientTLS) -> ssl.SSLContext:
    """The same for a part of this name that speaks TLS at any address."""
    try:
        return tls_context(tls.ca_pem, tls.client_cert_pem, tls.client_key_pem)
    except UnreadablePem as pem:
        sentence = f"the {pem.what} of {name} cannot be read ({pem.why}): correct the Secret"
        raise PartRefused(NotReached.TLS_FAILED, sentence) from pem


def url_of(url: str) -> str:
    """Scheme, host and port of a URL: paths and queries are no business of people."""
    return "/".join(url.split("/")[:3])


def _silence(error: Exception, seconds: float) -> str:
    match error:
        case NewConnectionError():
            return str(getattr(error.__cause__, "strerror", None) or "no connection")
        case ConnectTimeoutError():
            return "no connection in time"
        case HTTPTimeoutError():
            return f"no whole answer within {seconds:g} s"
        case _:
            return type(error).__name__


def _wrapped(error: Exception) -> ssl.SSLError | None:
    """The error of OpenSSL that urllib3 wraps."""
    return next((each for each in error.args if isinstance(each, ssl.SSLError)), None)


def _is_eof(error: ssl.SSLError | None) -> bool:
    """The other side ended the connection without a word of TLS: it may not even speak it."""
    return isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
