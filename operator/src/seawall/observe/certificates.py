"""Reads the certificates of a managed Kafka out of their Secrets: plain values, by which is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, SecretKeyRef
from seawall.domain.managed_kafka.certificates import Certificate, Certificates
from seawall.observe.secrets import SecretProblem, SecretTexts
from seawall.ports import Kube

PKCS8 = "-----BEGIN PRIVATE KEY-----"
KEPT = 256
"""Pairs of certificates whose signature need not be checked anew: that was a third of what a look cost."""


@dataclass(frozen=True, slots=True)
class _Content:
    """What is in one Secret."""

    secret: str
    chain: tuple[x509.Certificate, ...]
    authorities: tuple[x509.Certificate, ...]
    fits_key: bool


def read_certificates(kube: Kube, cluster: Key, kafka: ManagedKafka) -> Certificates | None:
    """Both certificates as they are now; None: this Kafka has none.

    Raises:
        OutsideUnavailable: the API server does not answer.
    """
    nodes, operator = kafka.security.tls, kafka.security.operator_tls
    if nodes is None or operator is None:
        return None
    found = [_read(_texts_of(kube, cluster.namespace), each.secret_name) for each in (nodes, operator)]
    authorities = [ca for each in found if isinstance(each, _Content) for ca in each.authorities]
    first, second = (each if isinstance(each, str) else _described(each, authorities) for each in found)
    return Certificates(first, second)


def _texts_of(kube: Kube, namespace: str) -> SecretTexts:
    """Each Secret is read once, or a certificate of before would be compared with a key of now."""
    return SecretTexts(cache(lambda name: kube.get_secret(Key(namespace, name))))


def _read(texts: SecretTexts, secret: str) -> _Content | str:
    """What is in a Secret, or what is wrong with it."""
    try:
        ca = texts.ca(SecretKeyRef(name=secret))
        certificate, key = texts.client_cert(ClientCertSecretRef(name=secret))
    except SecretProblem as problem:
        return str(problem)
    if ca is None or certificate is None or key is None:
        raise TypeError("a reference leads to a text")
    if PKCS8 not in key:
        wanted = "Kafka reads no other key than PKCS#8 (cert-manager: privateKey.encoding: PKCS8)"
        return f"key tls.key of Secret {secret} does not begin with {PKCS8}: {wanted}"
    name = "tls.crt"
    try:
        chain = tuple(x509.load_pem_x509_certificates(certificate.encode()))
        name = "ca.crt"
        authorities = tuple(x509.load_pem_x509_certificates(ca.encode()))
        name = "tls.key"
        public = serialization.load_pem_private_key(key.encode(), None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return f"key {name} of Secret {secret} is no PEM text that makes sense"
    return _Content(secret, chain, authorities, fits_key=_spki(public) == _spki(chain[0].public_key()))


def _spki(key: object) -> bytes:
    """A public key as bytes."""
    found: bytes = key.public_bytes(  # type: ignore[attr-defined]
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return found


def _described(content: _Content, authorities: Sequence[x509.Certificate]) -> Certificate:
    leaf = content.chain[0]
    path = _path(leaf, content.chain[1:])
    above = [ca for ca in authorities if any(_is_signed_by(each, ca) or each == ca for each in path)]
    serves, connects = _uses(leaf)
    ending = [*path, *_last(above)]
    return Certificate(
        secret=content.secret,
        subject=leaf.subject.rfc4514_string(),
        names=_names(leaf),
        begins=max(each.not_valid_before_utc for each in path),
        expires=min(each.not_valid_after_utc for each in ending),
        shown_until=min(each.not_valid_after_utc for each in path),
        times=tuple((each.not_valid_before_utc, each.not_valid_after_utc) for each in ending),
        serves=serves,
        connects=connects,
        fits_key=content.fits_key,
        trusted=_identities(content.authorities),
        signed_by=_identities(above),
        digest=_digest([*content.chain, *content.authorities]),
    )


def _last(authorities: Sequence[x509.Certificate]) -> Sequence[x509.Certificate]:
    """Of CAs that are believed alike the one that ends last; none of none."""
    return sorted(authorities, key=lambda each: each.not_valid_after_utc)[-1:]


def _path(leaf: x509.Certificate, others: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """The certificate, and those of the chain that signed the one before."""
    path, rest = [leaf], list(others)
    while found := next((each for each in rest if _is_signed_by(path[-1], each)), None):
        path.append(found)
        rest.remove(found)
    return path


@lru_cache(maxsize=KEPT)
def _is_signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names(leaf: x509.Certificate) -> frozenset[str]:
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(found.value.get_values_for_type(x509.DNSName))


def _uses(leaf: x509.Certificate) -> tuple[bool, bool]:
    """Whether servers and clients may show it; without the extension both may."""
    try:
        allowed: Iterable[ObjectIdentifier] = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True, True
    found = set(allowed)
    is_any = ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in found
    return (
        is_any or ExtendedKeyUsageOID.SERVER_AUTH in found,
        is_any or ExtendedKeyUsageOID.CLIENT_AUTH in found,
    )


def _identities(authorities: Iterable[x509.Certificate]) -> frozenset[str]:
    """A CA is its subject and its key (RFC 5280, 6.1.1 d): one that was only renewed is believed as before."""
    return frozenset(_hash([each.subject.public_bytes() + _spki(each.public_key())]) for each in authorities)


def _digest(certificates: Iterable[x509.Certificate]) -> str:
    return _hash(sorted(each.fingerprint(hashes.SHA256()) for each in certificates))


def _hash(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]
