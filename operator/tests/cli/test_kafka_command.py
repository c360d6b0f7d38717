"""`seawall kafka`: what cert-manager is asked for is what the operator accepts, and what is typed wrong is refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import pytest
import yaml

from seawall.adapters.authority import Authority
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.times import AUTHORITY_LIFE
from seawall.api.meta import Key
from seawall.cli.kafka import certificates
from seawall.cli.kafka_secrets import Maker
from seawall.cli.parser import build_parser
from seawall.domain.errors import Refused
from seawall.domain.managed_kafka.certificates import why_unusable
from seawall.observe.certificates import read_certificates
from tests.fakes.kube import FakeKube
from tests.managed_kafka.test_managed_kafka_objects import KEY, secured
from tests.support.clock import START
from tests.worlds.secured_world import authority, secret_of


def test_certificates_that_an_issuer_makes_of_them_fit() -> None:
    """Played by our own CA: cert-manager takes common name, organizational unit and DNS names as they are."""
    kube, kafka = FakeKube(), secured()
    for each in yaml.safe_load_all(certificates(KEY, kafka, "own", "ClusterIssuer")):
        spec = each["spec"]
        assert (each["apiVersion"], each["kind"]) == ("cert-manager.io/v1", "Certificate")
        assert spec["issuerRef"] == {"name": "own", "kind": "ClusterIssuer", "group": "cert-manager.io"}
        assert spec["privateKey"]["encoding"] == "PKCS8"
        assert ("server auth" in spec["usages"]) == ("dnsNames" in spec)
        (unit,) = spec["subject"]["organizationalUnits"]
        names = tuple(spec.get("dnsNames", ()))
        made = authority().issue(spec["commonName"], unit, names, START - timedelta(minutes=1), timedelta(days=90))
        kube.secrets[Key(each["metadata"]["namespace"], spec["secretName"])] = secret_of(made, authority())
    found = read_certificates(kube, KEY, kafka)
    assert found is not None
    assert why_unusable(KEY, kafka, found, START) is None


def test_users_who_come_by_certificate_get_one_each() -> None:
    kafka = secured(authentication="MutualTLS")
    asked = list(yaml.safe_load_all(certificates(KEY, kafka, "own", "Issuer")))
    assert [each["spec"]["commonName"] for each in asked] == [
        "seawall:wal:node",
        "seawall:wal:operator",
        "greptimedb",
        "verifier",
    ]
    assert asked[0]["spec"]["dnsNames"] == [f"wal-{node}.db.svc" for node in (0, 1, 2, 100, 101, 102)]


def test_a_node_that_leaves_is_named_until_it_is_out() -> None:
    nodes, _ = yaml.safe_load_all(certificates(KEY, secured(), "own", "Issuer", there=(0, 3)))
    assert nodes["spec"]["dnsNames"] == [f"wal-{node}.db.svc" for node in (0, 1, 2, 3, 100, 101, 102)]


@pytest.mark.parametrize("days", ["0", "-1", "x", "3651"])
def test_no_certificate_is_for_less_than_a_day_or_more_than_ten_years(
    days: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        build_parser("kafka").parse_args(["kafka", "secrets", "wal", f"--days={days}"])
    assert "no number of days" in capsys.readouterr().err


class Secrets:
    """An API server with Secrets, by the end of their paths."""

    def __init__(self, **there: Mapping[str, str]) -> None:
        self.there = {name.replace("_", "-"): dict(texts) for name, texts in there.items()}

    def get(self, path: str) -> dict[str, Any] | None:
        name = path.rpartition("/")[2]
        if name not in self.there:
            return None
        data = {key: base64.b64encode(text.encode()).decode() for key, text in self.there[name].items()}
        return {"metadata": {"name": name, "resourceVersion": "1"}, "data": data}


@pytest.mark.parametrize("left", [timedelta(days=-1), timedelta(0), timedelta(hours=1)])
def test_a_ca_that_has_ended_signs_nothing_more(left: timedelta) -> None:
    pair = Authority.new("old", START + left - AUTHORITY_LIFE).pair
    api = Secrets(wal_kafka_ca={"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.certificate})
    maker = Maker(cast("KubeApi", api), KEY, secured(), START, timedelta(days=365))
    with pytest.raises(Refused, match=r"the CA in Secret wal-kafka-ca is valid until .*: what it signs ends with it"):
        list(maker.changes())
