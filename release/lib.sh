# shellcheck shell=bash disable=SC2034
# What the scripts of a release share; source it.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/platform/lib.sh"

read -ra IMAGES <<<"${IMAGES:-operator replay-verification wal-backup wal-subscription}"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$REPO" log -1 --format=%ct)}
case $(uname -m) in x86_64) ARCHITECTURE=amd64 ;; aarch64) ARCHITECTURE=arm64 ;; *) die "no release for $(uname -m)" ;; esac

# REGISTRY_AUTH: what is in the config.json of docker, for all that talk to the registry.
if [ "${REGISTRY_AUTH:-}" ]; then
  DOCKER_CONFIG=$(mktemp -d)
  (umask 077 && printf %s "$REGISTRY_AUTH" >"$DOCKER_CONFIG/config.json")
  export DOCKER_CONFIG REGISTRY_AUTH_FILE=$DOCKER_CONFIG/config.json
fi
work=$(mktemp -d)
trap 'rm -rf "$work" ${REGISTRY_AUTH:+"$DOCKER_CONFIG"}' EXIT

helm_() { echo "$("$PLATFORM/binaries.sh")/helm"; }

# buildah keeps what it pulls in the cache, as images.sh does.
buildah_() {
  BUILDAH_ISOLATION=chroot buildah --storage-driver overlay --root "$CACHE/buildah/storage" --runroot "$CACHE/buildah/run" "$@"
}

# plain_http OPTION: prints it where the registry has no TLS (PLAIN_HTTP).
plain_http() { [ -z "${PLAIN_HTTP:-}" ] || echo "$1"; }

# push_image ARCHIVE REFERENCE: pushes what images.sh built.
push_image() {
  local id
  id=$(buildah_ pull --quiet "docker-archive:$1")
  # shellcheck disable=SC2046
  buildah_ push --quiet $(plain_http --tls-verify=false) "$id" "docker://$2" >&2
}

# join_architectures IMAGE VERSION: makes the index that VERSION names, of the images of all architectures; prints its digest.
join_architectures() {
  local list=localhost/release-index-$$ arch
  buildah_ manifest create "$list" >/dev/null
  for arch in ${ARCHITECTURES:-$ARCHITECTURE}; do
    # shellcheck disable=SC2046
    buildah_ manifest add $(plain_http --tls-verify=false) "$list" "docker://$1:$2-$arch" >/dev/null
  done
  # shellcheck disable=SC2046
  buildah_ manifest push --quiet --all --format oci --digestfile "$work/digest" $(plain_http --tls-verify=false) "$list" "docker://$1:$2" >&2
  buildah_ manifest rm "$list" >/dev/null
  cat "$work/digest"
}

# push_chart ARCHIVE REPOSITORY: pushes it, and prints its digest.
push_chart() {
  local said
  # shellcheck disable=SC2046
  said=$("$(helm_)" push $(plain_http --plain-http) "$1" "oci://$2" 2>&1) || die "$said"
  sed -n 's/^Digest: //p' <<<"$said"
}

# Signatures are by a key of one's own: no log of anybody else's is written to or asked. `cosign verify` wants --insecure-ignore-tlog.
cosign_() { "$("$PLATFORM/release-tools.sh" cosign)/cosign" "$@" >"$work/cosign.log" 2>&1 || { cat "$work/cosign.log" >&2; die "cosign $1 failed"; }; }

# sign_file FILE: into FILE.sigstore.json.
sign_file() {
  cosign_ signing-config create --out "$work/signing.json"
  cosign_ sign-blob --yes --key "$KEY" --signing-config "$work/signing.json" --bundle "$1.sigstore.json" "$1"
  chmod 644 "$1.sigstore.json"
}

# sign_image REFERENCE@DIGEST: into the registry, beside it.
sign_image() {
  cosign_ signing-config create --out "$work/signing.json"
  # shellcheck disable=SC2046
  cosign_ sign --yes --recursive --key "$KEY" --signing-config "$work/signing.json" $(plain_http --allow-http-registry) "$1"
}

# sbom_of IMAGE VERSION FILE: Debian's packages, Python's and Java's, as they are in it; no single files.
sbom_of() {
  SYFT_FILE_METADATA_SELECTION=none SYFT_CHECK_FOR_APP_UPDATE=false SYFT_REGISTRY_INSECURE_USE_HTTP=$([ -z "${PLAIN_HTTP:-}" ] && echo false || echo true) \
    "$("$PLATFORM/release-tools.sh" syft)/syft" scan --quiet "registry:$1:$2-$ARCHITECTURE" --output "cyclonedx-json=$3"
}
