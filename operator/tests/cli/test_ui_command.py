"""`seawall ui`: what it passes on to the operator, what it gives the browser, and to whom."""

from __future__ import annotations

import http.client
from typing import Any
from urllib.parse import urlsplit

import pytest

from seawall.adapters.kube.api import Fetched
from seawall.cli.parser import build_parser
from seawall.cli.ui import Relay, serving
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.overview.browser import HEADERS

PAGES = "/api/v1/namespaces/seawall/pods/https:seawall-0:9443/proxy/ui"
PAGE = Fetched(200, "text/html; charset=utf-8", b"<!doctype html>")


class FakeApi:
    """An API server with the operator's Lease; what the pod answers is said."""

    def __init__(
        self, answer: Fetched | Exception = PAGE, leader: str | None = "seawall-0", *, has_spec: bool = True
    ) -> None:
        self.answer, self.leader, self.has_spec = answer, leader, has_spec
        self.asked: list[str] = []

    def get(self, path: str) -> dict[str, Any] | None:
        assert path == "/apis/coordination.k8s.io/v1/namespaces/seawall/leases/seawall"
        annotations = {"seawall.dev/page-key": "k&y", "seawall.dev/pages-port": "9443"}
        lease = {"metadata": {"annotations": annotations}, "spec": {"holderIdentity": self.leader}}
        return lease if self.has_spec else {"metadata": {}}

    def fetch(self, path: str) -> Fetched:
        self.asked.append(path)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def answer_to(api: FakeApi, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """What somebody on this machine is answered; `SECRET` in the path is the secret."""
    with serving(Relay(api, "seawall/seawall"), 0) as address:
        where = urlsplit(address)
        connection = http.client.HTTPConnection(where.netloc, timeout=30)
        connection.request(method, path.replace("SECRET", where.path.strip("/")), headers=headers)
        answer = connection.getresponse()
        found = answer.status, dict(answer.headers.items()), answer.read()
        connection.close()
        return found


def test_a_page_is_passed_on_with_its_query_and_the_key() -> None:
    api = FakeApi()
    status, headers, body = answer_to(api, "/SECRET/walclusters/db/wal?topic=wal_1%2A&page=2")
    assert (status, body, headers["Content-Type"]) == (200, PAGE.body, PAGE.content_type)
    assert api.asked == [f"{PAGES}/walclusters/db/wal?topic=wal_1%2A&page=2&key=k%26y"]
    assert headers.items() >= HEADERS.items()


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        ("/", "GET", {}),
        ("/guess/", "GET", {}),
        ("/SECRET", "GET", {}),
        ("/SECRET/", "GET", {"Host": "seawall.example"}),
        ("/SECRET/", "POST", {}),
        ("/SECRET/", "DELETE", {}),
    ],
)
def test_whoever_does_not_know_the_address_or_wants_to_change_something_reaches_nobody(
    path: str, method: str, headers: dict[str, str]
) -> None:
    api = FakeApi()
    assert answer_to(api, path, method, **headers)[0] in {404, 501}
    assert api.asked == []


def test_what_is_no_page_is_shown_as_text() -> None:
    """The API server's own answers, and whatever else might be in the pod's place."""
    for content_type in ("application/json", "text/plain", "image/svg+xml", ""):
        status, headers, body = answer_to(FakeApi(Fetched(503, content_type, b"<script>")), "/SECRET/")
        assert (status, headers["Content-Type"], body) == (503, "text/plain; charset=utf-8", b"<script>\n")
    status, _, body = answer_to(FakeApi(OutsideUnavailable("GET x: no answer")), "/SECRET/")
    assert (status, body) == (502, b"GET x: no answer\n")


def test_a_page_that_cannot_be_seen_is_told_before_a_browser_opens() -> None:
    def require(api: FakeApi) -> None:
        Relay(api, "seawall/seawall").require()

    require(FakeApi())
    for nobody in (FakeApi(leader=None), FakeApi(has_spec=False)):
        with pytest.raises(Refused, match="no Seawall operator leads by the Lease seawall/seawall"):
            require(nobody)
    for status in (401, 403, 404):
        with pytest.raises(Refused, match=f"the operator's page: {status} not you"):
            require(FakeApi(Fetched(status, "text/plain", b"not you")))
    with pytest.raises(OutsideUnavailable, match="503 dial tcp"):
        require(FakeApi(Fetched(503, "text/plain", b"dial tcp")))


def test_a_port_that_is_taken_is_one_sentence() -> None:
    relay = Relay(FakeApi(), "seawall/seawall")
    with (
        serving(relay, 0) as address,
        pytest.raises(Refused, match="cannot be served: Address already in use"),
        serving(relay, int(urlsplit(address).port or 0)),
    ):
        pass


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_what_is_no_port_is_mistyped(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser("ui").parse_args(["ui", f"--port={port}"])
    assert "no port" in capsys.readouterr().err
