"""A request's files as options of a Kafka client."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkjob.errors import Refused
from sparkjob.fields import Fields
from sparkjob.kafka import Kafka, Sasl, Tls, parse_kafka
from sparkjob.kafka_options import librdkafka_options


def write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / name).write_text(content)


def kafka(tls: Tls | None = None, sasl: Sasl | None = None) -> Kafka:
    return Kafka(("a:1", "b:2"), None, tls, sasl)


def test_files_go_inline(tmp_path: Path) -> None:
    write(tmp_path, ca="CA", cert="CERT", key="KEY", user="u\n", password='a"b\n')
    tls = Tls(*(str(tmp_path / name) for name in ("ca", "cert", "key")))
    sasl = Sasl("SCRAM-SHA-512", tmp_path / "user", str(tmp_path / "password"))
    assert librdkafka_options(kafka(tls, sasl)) == {
        "bootstrap.servers": "a:1,b:2",
        "enable.sparse.connections": "false",
        "reconnect.backoff.max.ms": "2000",
        "security.protocol": "SASL_SSL",
        "ssl.ca.pem": "CA",
        "ssl.certificate.pem": "CERT",
        "ssl.key.pem": "KEY",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u",
        "sasl.password": 'a"b',
    }


def test_a_user_whose_name_the_request_says_needs_no_file_of_it(tmp_path: Path) -> None:
    write(tmp_path, password="p", user="u")
    password, by_file = str(tmp_path / "password"), Sasl("SCRAM-SHA-512", tmp_path / "user", str(tmp_path / "password"))
    assert librdkafka_options(kafka(sasl=Sasl("SCRAM-SHA-512", "u", password))) == librdkafka_options(
        kafka(sasl=by_file)
    )


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        (
            {"username": "u", "usernameFile": "/f"},
            "kafka.sasl has username and usernameFile: one of them names the user",
        ),
        ({}, r"kafka\.sasl\.usernameFile"),
    ],
)
def test_a_request_names_a_user_once(named: dict[str, str], sentence: str) -> None:
    sasl = {"mechanism": "SCRAM-SHA-512", "passwordFile": "/p", **named}
    with pytest.raises(Refused, match=sentence):
        parse_kafka(Fields.of({"bootstrapServers": ["a:1"], "sasl": sasl}, "kafka"))


def test_a_request_may_say_the_name_itself() -> None:
    sasl = {"mechanism": "SCRAM-SHA-512", "passwordFile": "/p", "username": "u"}
    parsed = parse_kafka(Fields.of({"bootstrapServers": ["a:1"], "sasl": sasl}, "kafka"))
    assert parsed.sasl == Sasl("SCRAM-SHA-512", "u", "/p")


def test_a_file_that_is_not_there_is_refused_without_its_content(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="none, which the request names for Kafka's connection, cannot be read: No such"):
        librdkafka_options(kafka(Tls(str(tmp_path / "none"), None, None)))


def test_an_unknown_mechanism_is_refused(tmp_path: Path) -> None:
    write(tmp_path, user="u", password="p")
    with pytest.raises(Refused, match="SASL mechanism GSSAPI is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"):
        librdkafka_options(kafka(sasl=Sasl("GSSAPI", tmp_path / "user", str(tmp_path / "password"))))
