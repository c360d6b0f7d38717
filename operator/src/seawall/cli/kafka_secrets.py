"""Makes the Secrets of a managed Kafka, with the rights of the person who types: a CA, certificates and passwords."""

from __future__ import annotations

import argparse
import base64
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from seawall.adapters.authority import Authority, Pair
from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.api.v1alpha1.managed_security import ClientAuthentication
from seawall.cli.session import Session
from seawall.domain.errors import Refused
from seawall.domain.managed_kafka.names import KAFKA_LABEL, MADE_BY_LABEL
from seawall.domain.managed_kafka.subjects import subject
from seawall.domain.managed_kafka.wanted_certificates import WantedCertificate, wanted_certificates
from seawall.domain.times import CERTIFICATE_LEAST_LIFE, CERTIFICATE_SKEW

MADE_BY = "seawall-kafka-secrets"
"""By this a Secret is known that may be made anew: others are cert-manager's, or somebody's."""
PASSWORD_BYTES = 24
CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"


@dataclass(frozen=True, slots=True)
class Change:
    """A Secret to make, or, at the version that was read, to make anew."""

    name: str
    kind: str
    texts: Mapping[str, str]
    what: str
    version: str | None = None


def lines(
    arguments: argparse.Namespace, session: Session, key: Key, kafka: ManagedKafka, there: tuple[int, ...] = ()
) -> Iterator[str]:
    """What is printed: what is there, and what is made or would be.

    Raises:
        Refused: a Secret cannot be made to fit those that are there, or the person may not.
        Conflict: somebody made or changed one meanwhile.
        OutsideUnavailable: the API server did not answer: some may be made.
    """
    life = timedelta(days=arguments.days)
    maker = Maker(session.api, key, kafka, session.now(), life, renews=arguments.renew, there=there)
    for found in maker.changes():
        if isinstance(found, str):
            yield found
        elif not arguments.apply:
            yield f"would {'make' if found.version is None else 'renew'} Secret {found.name}: {found.what}"
        else:
            maker.write(found)
            yield f"Secret {found.name} {'made' if found.version is None else 'renewed'}: {found.what}"
    if not arguments.apply:
        yield "nothing was changed: --apply does it"


@dataclass
class Maker:
    """What is there, and what is missing; `there`: the nodes that there are, those that leave among them."""

    api: KubeApi
    key: Key
    kafka: ManagedKafka
    now: datetime
    life: timedelta
    renews: bool = False
    there: tuple[int, ...] = ()

    def changes(self) -> Iterator[Change | str]:
        """The CA first; a sentence: of one that stays as it is."""
        wanted = list(wanted_certificates(self.key, self.kafka, self.there))
        due = [each for each in wanted if self._is_due(each.secret)]
        if due and self._found(self.authority_name) is None:
            yield self._new_authority(wanted)
        for each in wanted:
            yield self._certificate(each) if each in due else f"Secret {each.secret} is there"
        if self.kafka.security.authentication is ClientAuthentication.SCRAM:
            for user in self.kafka.security.users:
                is_there = self._found(user.secret_name) is not None
                yield f"Secret {user.secret_name} is there" if is_there else self._password(user.name, user.secret_name)

    def write(self, change: Change) -> None:
        """Creates or replaces it."""
        labels = {KAFKA_LABEL: self.key.name, MADE_BY_LABEL: MADE_BY}
        metadata: dict[str, Any] = {"name": change.name, "namespace": self.key.namespace, "labels": labels}
        data = {name: base64.b64encode(text.encode()).decode() for name, text in change.texts.items()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": change.kind, "data": data}
        if change.version is None:
            self.api.create(self._path(), body)
            return
        metadata["resourceVersion"] = change.version
        self.api.replace(f"{self._path()}/{change.name}", body)

    @property
    def authority_name(self) -> str:
        """The Secret of the CA, which only this command reads."""
        return f"{self.key.name}-kafka-ca"

    @cached_property
    def authority(self) -> Authority:
        """The one that is there, or a new one."""
        found = self._found(self.authority_name)
        if found is None:
            return Authority.new(f"Kafka of WALCluster {self.key.name}", self.now - CERTIFICATE_SKEW)
        return Authority.of(Pair(self._text(found, CERTIFICATE), self._text(found, KEY)))

    def _new_authority(self, wanted: list[WantedCertificate]) -> Change:
        there = [each.secret for each in wanted if self._found(each.secret) is not None]
        if there:
            what = f"the Secret of their CA, {self.authority_name}, is not: what a new CA signs would not fit them"
            raise Refused(f"Secret {' and '.join(there)} is there, and {what}")
        pair = self.authority.pair
        texts = {CERTIFICATE: pair.certificate, KEY: pair.key, CA: pair.certificate}
        until = self.authority.certificate.not_valid_after_utc.date()
        return Change(self.authority_name, "kubernetes.io/tls", texts, f"a CA, valid until {until}; keep it safe")

    def _certificate(self, wanted: WantedCertificate) -> Change:
        self._require_lasting_authority()
        begins, found = self.now - CERTIFICATE_SKEW, self._found(wanted.secret)
        pair = self.authority.issue(wanted.common_name, self.key.namespace, wanted.names, begins, self.life)
        texts = {CERTIFICATE: pair.certificate, KEY: pair.key, CA: self.authority.pair.certificate}
        until = min(begins + self.life, self.authority.certificate.not_valid_after_utc).date()
        names = f", {len(wanted.names)} names" if wanted.names else ""
        what = f"certificate of {subject(self.key.namespace, wanted.common_name)}{names}, valid until {until}"
        version = None if found is None else str(found["metadata"]["resourceVersion"])
        return Change(wanted.secret, "kubernetes.io/tls", texts, what, version)

    def _require_lasting_authority(self) -> None:
        """No certificate outlives its CA: what one that ends signs would take a roll, and end with it."""
        until = self.authority.certificate.not_valid_after_utc
        if until - self.now < CERTIFICATE_LEAST_LIFE:
            what = f"the CA in Secret {self.authority_name} is valid until {until:%Y-%m-%dT%H:%M:%SZ}"
            raise Refused(f"{what}: what it signs ends with it; bring another CA (docs/kafka.md#renewing-certificates)")

    def _password(self, user: str, secret: str) -> Change:
        texts = {"username": user, "password": secrets.token_urlsafe(PASSWORD_BYTES), CA: self._trusted()}
        return Change(secret, "Opaque", texts, f"a password of user {user}, and the CA that its client needs")

    def _trusted(self) -> str:
        """The CA of the nodes: ours, or that of whoever signed their certificate."""
        tls = self.kafka.security.tls
        found = None if tls is None else self._found(tls.secret_name)
        return self.authority.pair.certificate if found is None else self._text(found, CA)

    def _is_due(self, secret: str) -> bool:
        found = self._found(secret)
        if found is None:
            return True
        return self.renews and (found["metadata"].get("labels") or {}).get(MADE_BY_LABEL) == MADE_BY

    def _found(self, secret: str) -> dict[str, Any] | None:
        return self._all[secret] if secret in self._all else self._all.setdefault(secret, self._read(secret))

    @cached_property
    def _all(self) -> dict[str, dict[str, Any] | None]:
        """By name what was read: once each, so that all is decided by the same."""
        return {}

    def _read(self, secret: str) -> dict[str, Any] | None:
        return self.api.get(f"{self._path()}/{secret}")

    def _text(self, found: Mapping[str, Any], key: str) -> str:
        data = found.get("data") or {}
        if key not in data:
            raise Refused(f"Secret {found['metadata']['name']} has no key {key}")
        return base64.b64decode(data[key]).decode()

    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.key.namespace}/secrets"
