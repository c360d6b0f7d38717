"""What must not leave in a report: passwords, tokens, keys, certificates' keys, and whatever may be a record.

It removes too much rather than too little: a name that sounds like a secret takes its value along, and a long run of
characters without a space is taken for data. A digest (SHA-256, 64 characters) stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

REMOVED = "<removed>"
LONGEST_WORD = 72
"""A digest has 64 characters, with `sha256:` 71."""

_PEM = re.compile(r"-----BEGIN [^-]+-----.*?(?:-----END [^-]+-----|\Z)", re.DOTALL)
_SECRET = r"[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|credential|access[._-]?key|api[._-]?key|jaas)[\w.-]*"  # noqa: S105 - names of secrets
_NAME = re.compile(_SECRET, re.IGNORECASE)
_NAMED = re.compile(
    rf"({_SECRET}[\"']?[ \t]*[:=][ \t]*)(\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[^\s,;}}\])]+)", re.IGNORECASE
)
_HEADER = re.compile(r"\b(bearer|basic)[ \t]+[^\s\"',]+", re.IGNORECASE)
_AUTHORIZATION = re.compile(r"(authorization[\"']?[ \t]*[:=])[^\n]+", re.IGNORECASE)
_IN_URI = re.compile(r"(://)[^\s/@:\"']*:[^\s@\"']+@")
"""A user may be left out, and a password have slashes."""
_KEY_IN_QUERY = re.compile(r"([?&](?:key|sig|signature|X-Amz-[\w-]+)=)[^\s&\"']+")
_LONG = re.compile(rf"[A-Za-z0-9+/=_\\-]{{{LONGEST_WORD},}}")
_NOT_OURS = frozenset({"managedFields", "kubectl.kubernetes.io/last-applied-configuration"})


def clean_text(text: str, known: Iterable[str] = ()) -> str:
    """A text without secrets; `known` are some of them."""
    for value in known:
        if value:
            text = text.replace(value, REMOVED)
    text = _PEM.sub(REMOVED, text)
    text = _AUTHORIZATION.sub(rf"\1 {REMOVED}", text)
    text = _HEADER.sub(rf"\1 {REMOVED}", text)
    text = _IN_URI.sub(rf"\1{REMOVED}@", text)
    text = _KEY_IN_QUERY.sub(rf"\1{REMOVED}", text)
    text = _NAMED.sub(rf"\1{REMOVED}", text)
    return _LONG.sub(REMOVED, text)


def clean_object(found: Any) -> Any:
    """An object of the API server without secrets, and without what says nothing and may hold anything."""
    match found:
        case dict():
            of_variable = {"value"} if _NAME.fullmatch(str(found.get("name"))) else set[str]()
            return {
                key: _clean_value(value, is_secret=bool(_NAME.fullmatch(key)) or key in of_variable)
                for key, value in found.items()
                if key not in _NOT_OURS
            }
        case list():
            return [clean_object(each) for each in found]
        case str():
            return clean_text(found)
        case _:
            return found


def _clean_value(value: Any, *, is_secret: bool) -> Any:
    return REMOVED if is_secret and isinstance(value, str) else clean_object(value)
