"""Texts out of Secrets, read anew at every tick, so that renewed certificates and passwords are used at the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
        return (self._text(ref.name, ref.username_key), self._text(ref.name, ref.password_key)) if ref else (None, None)

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
