"""A bucket, as requests name it, and as the pods of a job have it."""

from __future__ import annotations

from seawall.api.v1alpha1.object_storage import AccessKeySecretRef, S3Bucket
from seawall.domain.spark_job.application import Mount, secret

STORE_FOLDER = "/etc/seawall/store"
"""Where the Secrets of the store are: the CA in all pods, the access key in the driver's."""
KEY_FOLDER = f"{STORE_FOLDER}/key"


def s3_of(s3: S3Bucket, key_folder: str = KEY_FOLDER, *, has_key: bool) -> dict[str, object]:
    """The `s3` of a request."""
    return {
        "bucket": s3.bucket,
        "prefix": s3.prefix or None,
        "region": s3.region,
        "endpoint": s3.endpoint,
        "caFile": None if s3.ca_secret_ref is None else f"{STORE_FOLDER}/ca/ca.crt",
        "accessKeyIdFile": f"{key_folder}/accessKeyId" if has_key else None,
        "secretAccessKeyFile": f"{key_folder}/secretAccessKey" if has_key else None,
    }


def secrets_of_bucket(s3: S3Bucket | None) -> tuple[str, ...]:
    """The Secrets that only the job needs, and cannot start without."""
    refs = () if s3 is None else (s3.ca_secret_ref, s3.credentials_secret_ref)
    return tuple(ref.name for ref in refs if ref is not None)


def shared_mounts(s3: S3Bucket) -> tuple[Mount, ...]:
    """Executors write objects, too: the CA of the server is theirs as well."""
    ca = s3.ca_secret_ref
    return () if ca is None else (secret("store-ca", ca.name, {ca.key: "ca.crt"}, f"{STORE_FOLDER}/ca"),)


def private_mounts(s3: S3Bucket) -> tuple[Mount, ...]:
    """The access key: executors get it from the driver."""
    key = s3.credentials_secret_ref
    return () if key is None else (secret("store-key", key.name, files_of(key), KEY_FOLDER),)


def files_of(key: AccessKeySecretRef) -> dict[str, str]:
    """The files of an access key, by the keys of its Secret."""
    return {key.access_key_id_key: "accessKeyId", key.secret_access_key_key: "secretAccessKey"}
