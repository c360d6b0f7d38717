"""A certificate authority in memory, for Kafkas that Seawall runs: PEM texts in, PEM texts out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from seawall.adapters.times import AUTHORITY_LIFE
from seawall.domain.errors import Refused


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key (PKCS#8), as PEM texts."""

    certificate: str
    key: str


@dataclass(frozen=True, slots=True)
class Authority:
    """It signs by an elliptic key (P-256); so are the keys that it makes."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def new(cls, common_name: str, now: datetime) -> Authority:
        """A new one."""
        key, name = _new_key(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        usage = _usage(signs=True)
        made = (
            _builder(name, name, key, now, now + AUTHORITY_LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(made.sign(key, hashes.SHA256()), key)

    @classmethod
    def of(cls, pair: Pair) -> Authority:
        """One that was made before.

        Raises:
            Refused: it makes no sense, or is of another kind.
        """
        try:
            certificate = x509.load_pem_x509_certificate(pair.certificate.encode())
            key = serialization.load_pem_private_key(pair.key.encode(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise Refused(f"the CA cannot be read: {error}") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise Refused("the CA's key is none of an elliptic curve: it is not of this command")
        return cls(certificate, key)

    @property
    def pair(self) -> Pair:
        """It as texts."""
        return Pair(_pem(self.certificate), _pem_of_key(self.key))

    def issue(self, common_name: str, unit: str, names: tuple[str, ...], now: datetime, life: timedelta) -> Pair:
        """A certificate for a server that has names and is a client, too; without names for a client only."""
        key = _new_key()
        who = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
                x509.NameAttribute(NameOID.COMMON_NAME, common_name),
            ]
        )
        until = min(now + life, self.certificate.not_valid_after_utc)
        uses = [*([ExtendedKeyUsageOID.SERVER_AUTH] if names else []), ExtendedKeyUsageOID.CLIENT_AUTH]
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        made = (
            _builder(who, self.certificate.subject, key, now, until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(signer, critical=False)
        )
        if names:
            made = made.add_extension(
                x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
            )
        return Pair(_pem(made.sign(self.key, hashes.SHA256())), _pem_of_key(key))


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, begins: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _pem_of_key(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
