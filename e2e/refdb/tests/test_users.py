"""Users of a frontend, as GreptimeDB's user providers make them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from refdb.errors import DatabaseError, StatusCode
from refdb.frontend.users import let_in, user_provider
from refdb.sql.statements import parse_statement

READ, FLUSH = parse_statement("SELECT * FROM t"), parse_statement("ADMIN flush_region(1)")
USERS = "static_user_provider:cmd:admin=secret,reader:ro=r,writer:WriteOnly=w"


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def code_of(header: str | None) -> StatusCode:
    with pytest.raises(DatabaseError) as refused:
        let_in(user_provider(USERS)(), header)
    return refused.value.code


def test_who_is_not_let_in_gets_the_code_that_says_why() -> None:
    assert code_of(None) is StatusCode.AUTH_HEADER_NOT_FOUND
    assert code_of("Basic") is StatusCode.INVALID_AUTH_HEADER
    assert code_of("Basic !") is StatusCode.INVALID_AUTH_HEADER
    assert code_of(basic("admin")) is StatusCode.INVALID_AUTH_HEADER
    assert code_of(basic("admin:secret").replace("Basic", "Bearer")) is StatusCode.INVALID_AUTH_HEADER
    assert code_of(basic("nobody:secret")) is StatusCode.USER_NOT_FOUND
    assert code_of(basic("admin:other")) is StatusCode.USER_PASSWORD_MISMATCH


def test_codes_have_the_status_of_greptimedb() -> None:
    statuses = {code: code.http_status.value for code in StatusCode}
    assert {code for code, status in statuses.items() if status == 401} == {
        StatusCode.USER_NOT_FOUND,
        StatusCode.USER_PASSWORD_MISMATCH,
        StatusCode.AUTH_HEADER_NOT_FOUND,
        StatusCode.INVALID_AUTH_HEADER,
    }
    assert statuses[StatusCode.PERMISSION_DENIED] == 403


@pytest.mark.parametrize(
    ("who", "reads", "writes"), [("admin:secret", True, True), ("reader:r", True, False), ("writer:w", False, True)]
)
def test_a_flush_is_a_write(who: str, *, reads: bool, writes: bool) -> None:
    user = let_in(user_provider(USERS)(), basic(who))
    for statement, may in ((READ, reads), (FLUSH, writes)):
        if may:
            user.require(statement)
            continue
        with pytest.raises(DatabaseError) as refused:
            user.require(statement)
        assert refused.value.code is StatusCode.PERMISSION_DENIED


def test_a_static_file_is_read_once_and_a_watched_one_again(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# people\n\nadmin=one\nno line\n")
    static, watched = (
        user_provider(f"static_user_provider:file:{file}"),
        user_provider(f"watch_file_user_provider:{file}"),
    )
    assert static().keys() == watched().keys() == {"admin"}
    file.write_text("admin=two\n")
    assert let_in(static(), basic("admin:one")).name == "admin"
    assert let_in(watched(), basic("admin:two")).name == "admin"


@pytest.mark.parametrize("option", ["", "ldap:x", "static_user_provider:cmd:nobody", "static_user_provider:file:/none"])
def test_options_that_make_no_sense_are_refused(option: str) -> None:
    with pytest.raises(DatabaseError):
        user_provider(option)
