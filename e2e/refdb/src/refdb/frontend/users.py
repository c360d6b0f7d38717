"""Who may ask a frontend what: GreptimeDB's user providers, by files or lists of `name[:mode]=password`.

`static_user_provider:file:<path>` and `static_user_provider:cmd:<name=password,…>` are read once,
`watch_file_user_provider:<path>` whenever somebody asks. Modes are rw (the default), ro and wo.
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from refdb.errors import DatabaseError, StatusCode, invalid
from refdb.sql.statements import Query, Statement

_READ_ONLY, _WRITE_ONLY = ("ro", "readonly", "read_only"), ("wo", "writeonly", "write_only")


@dataclass(frozen=True, slots=True)
class User:
    """Who asks; nobody is asked for a name where there are no users."""

    name: str
    password: str
    reads: bool = True
    writes: bool = True

    def require(self, statement: Statement) -> None:
        """ADMIN is a write, too."""
        if not (self.reads if isinstance(statement, Query) else self.writes):
            raise DatabaseError(StatusCode.PERMISSION_DENIED, "User is not authorized to perform this action")


EVERYBODY = User("greptime", "")
Users = Mapping[str, User]


def user_provider(option: str) -> Callable[[], Users]:
    """The users as they are now, by GreptimeDB's option."""
    name, _, value = option.partition(":")
    kind, _, content = value.partition(":")
    if name == "watch_file_user_provider" and value:
        return lambda: _users(_lines(Path(value)))
    if name == "static_user_provider" and kind in {"file", "cmd"}:
        users = _users(_lines(Path(content)) if kind == "file" else content.split(","))
        return lambda: users
    raise invalid(f"--user-provider: {name} is none")


def let_in(users: Users, header: str | None) -> User:
    """Who asks, by HTTP Basic authentication."""
    if header is None:
        raise DatabaseError(StatusCode.AUTH_HEADER_NOT_FOUND, "Not found http or grpc authorization header")
    try:
        scheme, encoded = header.split(" ")
        name, password = b64decode(encoded, validate=True).decode().split(":", 1)
    except ValueError:
        raise DatabaseError(StatusCode.INVALID_AUTH_HEADER, "Invalid http authorization header") from None
    if scheme.lower() != "basic":
        raise DatabaseError(StatusCode.INVALID_AUTH_HEADER, f"Unsupported http auth scheme, name: {scheme}")
    user = users.get(name)
    if user is None:
        raise DatabaseError(StatusCode.USER_NOT_FOUND, f"User not found, username: {name}")
    if not hmac.compare_digest(user.password.encode(), password.encode()):
        message = f"Username and password does not match, username: {name}"
        raise DatabaseError(StatusCode.USER_PASSWORD_MISMATCH, message)
    return user


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError as error:
        raise invalid(f"--user-provider: {error}") from None


def _users(lines: Iterable[str]) -> Users:
    users = {user.name: user for user in map(_user, lines) if user is not None}
    if not users:
        raise invalid("--user-provider: it has no users")
    return users


def _user(line: str) -> User | None:
    """As GreptimeDB, a line that makes no sense is nobody."""
    name, is_user, password = line.strip().partition("=")
    if not is_user or "=" in password or name.startswith("#"):
        return None
    name, _, mode = name.partition(":")
    return User(name, password, mode.lower() not in _WRITE_ONLY, mode.lower() not in _READ_ONLY)
