"""Calls of etcd's JSON gateway: endpoints in turn, TLS, a user's token and its renewal, and errors as sentences."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from seawall.adapters.http import Answer, Http, Part, context_for, url_of
from seawall.domain.dataplane.connection import EtcdConnection, NotReached, PartRefused, PartUnavailable

ETCD = Part("etcd", "metadataStore.etcd.endpoints", NotReached.METADATA_STORE_UNREACHABLE, "metadataStore.etcd.tls")


class Code(IntEnum):
    """gRPC status codes that the gateway answers."""

    DEADLINE_EXCEEDED = 4
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    OUT_OF_RANGE = 11
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


_PASSING = (Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE)
"""A member without a leader, or with too much to do: another one may answer."""


class _TokenRefused(Exception):  # noqa: N818 - never leaves this module
    """The token has expired, or the users changed since it was given."""


class _AuthNotEnabled(Exception):  # noqa: N818 - never leaves this module
    """This etcd knows no users: it is used without, as etcd's own client does."""


class Gateway:
    """One etcd cluster; safe to use from many threads."""

    def __init__(self, connection: EtcdConnection) -> None:
        self._http = Http(ETCD, tls=context_for(ETCD, connection.endpoints[0], connection.tls))
        self._connection = connection
        self._endpoints = list(connection.endpoints)
        self._lock = threading.Lock()
        self._token: str | None = None

    def close(self) -> None:
        """Closes what is kept open."""
        self._http.close()

    def call(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer's JSON; a token that has expired is renewed once.

        Raises:
            PartUnavailable: no member answered; a write may have happened.
            PartRefused: etcd said no, or does not let us in.
        """
        token = self._current_token()
        try:
            return self._ask(path, body, token)
        except _TokenRefused:
            self._forget(token)
        try:
            return self._ask(path, body, self._current_token())
        except _TokenRefused as error:
            raise PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, f"etcd renews no token ({error})") from error

    def _current_token(self) -> str | None:
        """Asks for a token while nobody else does; None without a user."""
        user = self._connection.user
        if user is None:
            return None
        with self._lock:
            if self._token is None:
                body = {"name": user.name, "password": user.password}
                try:
                    self._token = _token_in(self._ask("/v3/auth/authenticate", body, None))
                except _AuthNotEnabled:
                    self._token = ""
                except _TokenRefused as error:
                    raise PartUnavailable(ETCD.silent, f"etcd gives no token ({error})") from error
            return self._token

    def _forget(self, token: str | None) -> None:
        """Unless another thread has renewed it already."""
        with self._lock:
            if self._token == token:
                self._token = None

    def _ask(self, path: str, body: Mapping[str, Any], token: str | None) -> Any:
        """Tries the endpoints, first the one that answered last. What tells most is raised."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": token} if token else {})
        text = json.dumps(body).encode()
        trouble: PartUnavailable | PartRefused | None = None
        for endpoint in tuple(self._endpoints):
            try:
                answer = self._http.post(endpoint + path, body=text, headers=headers)
                found = self._read(endpoint, answer)
            except PartUnavailable as error:
                trouble = trouble or error
            except PartRefused as error:
                if error.why is not NotReached.TLS_FAILED:
                    raise
                trouble = error
            else:
                self._prefer(endpoint)
                return found
        if trouble is None:
            raise ValueError("no endpoints")
        raise trouble

    def _prefer(self, endpoint: str) -> None:
        if self._endpoints[0] != endpoint:
            self._endpoints = [endpoint, *(other for other in self._endpoints if other != endpoint)]

    def _read(self, endpoint: str, answer: Answer) -> Any:
        """The JSON of a good answer; else what the error means."""
        where = f"etcd at {url_of(endpoint)}"
        try:
            data = json.loads(answer.body)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and answer.is_ok:
            return data
        if b"CommonName of client" in answer.body:
            advice = "with users, its JSON gateway wants client certificates without a common name"
            raise PartRefused(NotReached.AUTHENTICATION_FAILED, f"{where} refused our client certificate: {advice}")
        if not isinstance(data, dict) or not isinstance(data.get("code"), int):
            message = f"{where} answers {answer.shown()}: it is no etcd 3.4 or newer, or a proxy is before it"
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)
        said = str(data.get("message") or data.get("error")).removeprefix("etcdserver: ")
        raise self._meaning(where, data["code"], said)

    def _meaning(self, where: str, code: int, said: str) -> Exception:
        if code == Code.UNAUTHENTICATED or "revision of auth store is old" in said:
            return _TokenRefused(said)
        if "authentication is not enabled" in said:
            return _AuthNotEnabled(said)
        if code == Code.OUT_OF_RANGE or code in _PASSING:
            return PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, f"{where} cannot answer now ({said})")
        if "user name is empty" in said or (code == Code.PERMISSION_DENIED and self._connection.user is None):
            sentence = f"{where} wants a user name and password: set metadataStore.etcd.auth"
        elif code == Code.PERMISSION_DENIED:
            advice = "grant its role the keys below the prefix"
            sentence = f"{where} does not let the user do this ({said}): {advice}"
        elif "authentication failed" in said:
            sentence = f"{where} refused the user name or password ({said}): correct the Secret of etcd.auth"
        else:
            return PartRefused(NotReached.UNEXPECTED_ANSWER, f"{where} refused a request ({said})")
        return PartRefused(NotReached.AUTHENTICATION_FAILED, sentence)


def _token_in(answer: Mapping[str, Any]) -> str:
    token = answer.get("token")
    if not isinstance(token, str) or not token:
        message = "etcd gives no token: is it etcd 3.4 or newer, or a proxy before it?"
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)
    return token
