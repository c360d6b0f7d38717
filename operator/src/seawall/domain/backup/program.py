"""What runs for a backup, and what its pods mount."""

from __future__ import annotations

from seawall.api.v1alpha1.backup_template import AccessKeySecretRef, BackupStorage
from seawall.api.v1alpha1.spark_job import JobDeclaration
from seawall.domain.backup.contract import CLAIM_FOLDER, EXPIRY_FOLDER, KEY_FOLDER, STORE_FOLDER
from seawall.domain.spark_job.allowed import own_secrets
from seawall.domain.spark_job.application import REQUEST_FOLDER, SUMMARY_FILE, Mount, Program, claim, secret
from seawall.domain.spark_job.request import FILE

MAIN_FILE = "local:///opt/seawall/backup.py"


def build_program(command: str, storage: BackupStorage, digest: str, *, deletes: bool = False) -> Program:
    """The application that works on the request with this digest: `backup`, `plan` or `restore`."""
    arguments = (command, "--request", f"{REQUEST_FOLDER}/{FILE}", "--summary", SUMMARY_FILE, "--digest", digest)
    return Program(MAIN_FILE, arguments, _shared(storage), (*_private(storage), *(_expiry(storage) if deletes else ())))


def secrets_of(storage: BackupStorage, own: JobDeclaration) -> tuple[str, ...]:
    """The Secrets that only the job needs, and cannot start without."""
    refs = () if storage.s3 is None else (storage.s3.ca_secret_ref, storage.s3.credentials_secret_ref)
    return (*own_secrets(own), *(ref.name for ref in refs if ref is not None))


def _shared(storage: BackupStorage) -> tuple[Mount, ...]:
    """Executors write objects, too: the claim, or the CA of the server, is theirs as well."""
    if storage.s3 is None:
        return (claim("backups", str(storage.persistent_volume_claim), CLAIM_FOLDER),)
    ca = storage.s3.ca_secret_ref
    return () if ca is None else (secret("store-ca", ca.name, {ca.key: "ca.crt"}, f"{STORE_FOLDER}/ca"),)


def _private(storage: BackupStorage) -> tuple[Mount, ...]:
    """The access key: executors get it from the driver."""
    key = None if storage.s3 is None else storage.s3.credentials_secret_ref
    if key is None:
        return ()
    return (secret("store-key", key.name, _files(key), KEY_FOLDER),)


def _expiry(storage: BackupStorage) -> tuple[Mount, ...]:
    """The key that may delete. A backup needs none, so it begins without it, too."""
    key = None if storage.s3 is None else storage.s3.expiry_credentials_secret_ref
    return () if key is None else (secret("store-expiry", key.name, _files(key), EXPIRY_FOLDER, optional=True),)


def _files(key: AccessKeySecretRef) -> dict[str, str]:
    return {key.access_key_id_key: "accessKeyId", key.secret_access_key_key: "secretAccessKey"}
