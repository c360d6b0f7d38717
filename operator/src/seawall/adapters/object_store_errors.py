"""What obstore says, in sentences.

It tells less in its message than in what it appends for debugging: why a connection failed is only there. What changes
from try to try (times, request ids, counts) is left out, as a condition's message must not.
"""

from __future__ import annotations

import html
import re

from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.object_store import S3Connection

NO_SUCH_KEY = "NoSuchKey"
"""S3's code for an object that there is not. A 404 without it may be any web server's."""

_DEBUG = "\n\nDebug source:"
_ASKED = re.compile(r"Error performing [A-Z]+ (\S+) in ")
_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9._-]{1,64})</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,300})</Message>")
_LATER = frozenset({"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable"})
_BUSY = frozenset({408, 429})
_SERVER_FAILED = 500

_WHY = (
    ("UnknownIssuer", "no CA that is trusted signed its certificate: caSecretRef must hold the one that did"),
    ("NotValidForName", "its certificate is for another name: correct endpoint, or have one issued for this name"),
    ("Expired", "its certificate has expired: renew it, where it is served"),
    ("NotValidYet", "its certificate is for later: look at the clocks of both sides"),
    ("InvalidCertificate", "its certificate is not accepted"),
    ("InvalidContentType", "it does not speak TLS at this port"),
    ("dns error", "its address has no IP address: correct endpoint, or the DNS"),
    ("ConnectionRefused", "it refuses the connection: check that it runs, and the port of endpoint"),
    ("kind: Timeout", "it does not answer in time"),
    ("TimedOut", "it does not answer in time"),
    ("Parse(", "what answers is no web server"),
)
"""By what rustls, hyper and the system call it in the debugging text; the first that is there."""


def code_of(error: Exception) -> str | None:
    """The store's own code, as `NoSuchKey`."""
    found = _CODE.search(_said(error))
    return found[1] if found else None


def translate(error: Exception, connection: S3Connection, what: str) -> Refused | OutsideUnavailable:
    """The error as ours; `what` was asked for, as `to list wal/log`."""
    said, where = _said(error), place(connection)
    status = _STATUS.search(said)
    if _is_about_identity(said, connection):
        how = _answer(said, int(status[1])) if status else _why(error)
        missing = "no access key is declared, and the pod's own identity is not to be had"
        return OutsideUnavailable(f"{where}: {missing} ({how})")
    if status is None:
        if "redirect without LOCATION" in said:
            return Refused(f"{where}: it is not in region {connection.region}: correct region")
        if isinstance(error, ValueError):
            return Refused(f"{where}: it cannot be asked {what}: {_line(said)}")
        return OutsideUnavailable(f"{where}: the store does not answer: {_why(error)}")
    number = int(status[1])
    answer = _answer(said, number)
    if number in _BUSY or number >= _SERVER_FAILED or code_of(error) in _LATER:
        return OutsideUnavailable(f"{where}: the store cannot now {what.removeprefix('to ')}: {answer}")
    return Refused(f"{where}: the store refuses {what}: {answer}")


def place(connection: S3Connection) -> str:
    """The bucket and its server."""
    return f"bucket {connection.bucket}" + (f" at {connection.endpoint}" if connection.endpoint else "")


def _is_about_identity(said: str, connection: S3Connection) -> bool:
    """Whether somebody else was asked than the store: the cloud's metadata, or its tokens."""
    asked, bucket = _ASKED.search(said), connection.bucket
    if asked is None or connection.access_key_id is not None:
        return False
    return not any(mark in asked[1] for mark in (f"/{bucket}/", f"/{bucket}?", f"//{bucket}."))


def _answer(said: str, status: int) -> str:
    code, message = _CODE.search(said), _MESSAGE.search(said)
    name = code[1] if code else f"HTTP status {status}"
    return f"{name} ({_line(html.unescape(message[1])).rstrip('.')})" if message else name


def _why(error: Exception) -> str:
    debug = str(error).partition(_DEBUG)[2]
    return next((why for mark, why in _WHY if mark in debug), None) or _line(_said(error).rpartition(" - ")[2])


def _said(error: Exception) -> str:
    return str(error).partition(_DEBUG)[0]


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
