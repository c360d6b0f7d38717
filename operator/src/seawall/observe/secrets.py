"""Texts in Secrets, by the references of a spec: each is read anew, and what is wrong with one is one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seawall.api.v1alpha1.kafka_access import KafkaSASL
from seawall.api.v1alpha1.object_storage import AccessKeySecretRef
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, SecretKeyRef
from seawall.domain.errors import Forbidden

ReadSecret = Callable[[str], Mapping[str, bytes] | None]
"""Reads the Secret of this name; None when there is none."""


class SecretProblem(Exception):  # noqa: N818 - a finding, which the callers turn into a value
    """What is wrong with a Secret, in one sentence."""

    def __init__(self, sentence: str, *, is_forbidden: bool = False) -> None:
        super().__init__(sentence)
        self.is_forbidden = is_forbidden


@dataclass(frozen=True, slots=True)
class SecretTexts:
    """What references lead to; None for an absent one. All of it raises SecretProblem."""

    read_secret: ReadSecret

    def ca(self, ref: SecretKeyRef | None) -> str | None:
        """The PEM text of CA certificates."""
        return self._text(ref.name, ref.key) if ref else None

    def client_cert(self, ref: ClientCertSecretRef | None) -> tuple[str, str] | tuple[None, None]:
        """The PEM texts of certificate and private key."""
        return (self._text(ref.name, ref.cert_key), self._text(ref.name, ref.key_key)) if ref else (None, None)

    def credentials(self, ref: CredentialsSecretRef | None) -> tuple[str, str] | tuple[None, None]:
        """User name and password."""
        return self.required_credentials(ref) if ref else (None, None)

    def required_credentials(self, ref: CredentialsSecretRef) -> tuple[str, str]:
        """The same, where there must be some."""
        return self._text(ref.name, ref.username_key), self._text(ref.name, ref.password_key)

    def password(self, secret: str) -> str:
        """A password that stands alone; the newline at the end of a file is none of it."""
        return self._text(secret, CredentialsSecretRef(name=secret).password_key).rstrip("\r\n")

    def sasl(self, sasl: KafkaSASL | None) -> tuple[str, str] | tuple[None, None]:
        """User name and password of Kafka: the name is in the spec or in the Secret."""
        if sasl is None or sasl.username is None:
            return self.credentials(sasl.credentials_secret_ref if sasl else None)
        ref = sasl.credentials_secret_ref
        return sasl.username, self._text(ref.name, ref.password_key)

    def access_key(self, ref: AccessKeySecretRef | None) -> tuple[str, str] | tuple[None, None]:
        """Id and secret of an access key of S3."""
        if ref is None:
            return None, None
        texts = (self._text(ref.name, key) for key in (ref.access_key_id_key, ref.secret_access_key_key))
        key_id, secret = (text.rstrip("\r\n") for text in texts)  # as jobs read their files of it
        return key_id, secret

    def _text(self, secret: str, key: str) -> str:
        try:
            data = self.read_secret(secret)
        except Forbidden as error:
            sentence = f"the operator may not read Secret {secret}: name it in the chart's value secrets.names"
            raise SecretProblem(sentence, is_forbidden=True) from error
        if data is None:
            raise SecretProblem(f"Secret {secret} does not exist")
        if key not in data:
            raise SecretProblem(f"Secret {secret} has no key {key}")
        try:
            return data[key].decode()
        except UnicodeDecodeError as error:
            raise SecretProblem(f"key {key} of Secret {secret} is no UTF-8 text") from error
