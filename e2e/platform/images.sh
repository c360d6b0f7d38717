#!/usr/bin/env bash
# Builds an image from an ordinary Dockerfile, once for each state of its inputs, and prints its
# full reference. With Docker when an engine answers, else with buildah into an archive in the cache.
#
#   images.sh NAME CONTEXT_DIR [DOCKERFILE] [options]
#     --only PATH...              only these paths of the context count, and only they are seen by the build
#     --input PATH...             files outside the context that count, too
#     --build-context NAME=DIR    for `COPY --from=NAME`; counts
#     --scratch                   the Dockerfile has no ARG BASE_IMAGE
#     --base-image REF            its BASE_IMAGE, built by images.sh before
#     --target STAGE              end with this stage
#   images.sh --base              only the base image
#
# The build sees exactly the files that were hashed: those which git tracks or would track.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the reference only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

BASE_PACKAGES=ca-certificates,python3,python3-venv,tini,procps
usage() { sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'; exit 2; }

archive_of() { local name=${1##*/}; echo "$CACHE/images/${name/:/-}.tar"; }

# buildah keeps its layers in the cache, too, apart from what the machine's user has.
buildah_() {
  BUILDAH_ISOLATION=chroot buildah --storage-driver overlay --root "$CACHE/buildah/storage" --runroot "$CACHE/buildah/run" "$@"
}

# The base for machines without a registry: Debian's minimal system with what most images need.
# Where the packages come from is the host's business and is not left in the image.
build_base_layer() {
  [ ! -e "$1" ] || return 0
  packages mmdebstrap
  local log="$CACHE/log/base.log" sources=()
  mapfile -t sources < <(find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.list' -size +0 -o -name '*.sources' -size +0 2>/dev/null)
  mkdir -p "$CACHE/layers" "$CACHE/log"
  say "building the base layer: $DEBIAN_SUITE with $BASE_PACKAGES (log: $log)"
  # shellcheck disable=SC2016  # $1 is the hook's
  timeout 1200 mmdebstrap --variant=apt --include="$BASE_PACKAGES" --format=tar \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
    "$DEBIAN_SUITE" "$1.tmp.tar" "${sources[@]}" >"$log" 2>&1 || { tail -20 "$log"; die "mmdebstrap failed (log: $log)"; }
  mv "$1.tmp.tar" "$1"
}

# build_base: sets BASE_IMAGE.
build_base() {
  local key layer context
  key=$({ echo "$DEBIAN_SUITE $BASE_PACKAGES"; declare -f build_base_layer; } | hash_of)
  layer=$CACHE/layers/base-$key.tar
  BASE_IMAGE=localhost/seawall/base:$key
  [ -e "$layer" ] || with_lock "base-$key" build_base_layer "$layer"
  context=$CACHE/layers/base-$key.context
  mkdir -p "$context"
  ln -f "$layer" "$context/layer.tar"
  printf 'FROM scratch\nADD layer.tar /\nCMD ["/bin/bash"]\n' >"$context/Dockerfile"
  if [ ! -e "$(archive_of "$BASE_IMAGE")" ]; then
    with_lock "image-base-$key" build_archive "$BASE_IMAGE" "$context" "$context/Dockerfile"
  fi
}

# What a build needs from the host to reach package registries; mounted, so that it is not baked in.
registry_mounts() {
  local path
  for path in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/apt/keyrings; do
    [ ! -e "$path" ] || printf -- '--volume\n%s:%s:ro\n' "$path" "$path"
  done
}

# build_archive REF CONTEXT DOCKERFILE [BUILDAH_OPTION...]
build_archive() {
  local ref=$1 context=$2 dockerfile=$3 archive log mounts=(); shift 3
  archive=$(archive_of "$ref")
  [ ! -e "$archive" ] || return 0
  log="$CACHE/log/image-${ref##*/}.log"
  mkdir -p "$CACHE/images" "$CACHE/log"
  packages buildah ca-certificates
  mapfile -t mounts < <(registry_mounts)
  say "building $ref (log: $log)"
  {
    timeout 1800 buildah --version &&
      buildah_ bud --network host --layers "${mounts[@]}" "$@" -t "$ref" -f "$dockerfile" "$context" &&
      buildah_ push "$ref" "docker-archive:$archive.tmp:$ref"
  } >"$log" 2>&1 </dev/null || { rm -f "$archive.tmp"; tail -20 "$log"; die "the build of $ref failed (log: $log)"; }
  mv "$archive.tmp" "$archive"   # last: an interrupted build leaves no entry
  say "built $ref, $(du -h "$archive" | cut -f1)"
  prune "${archive%-*}"
}

# prune PREFIX: of each image the eight states that were used last stay in the cache; four, where they are large.
prune() {
  local old kept=8
  [ -z "$(find "${1%/*}" -name "${1##*/}-????????????????.tar" -size +500M)" ] || kept=4
  find "${1%/*}" -name "${1##*/}-????????????????.tar" -printf '%T@ %p\n' | sort -rn | tail -n "+$((kept + 1))" | cut -d' ' -f2- |
    while read -r old; do
      rm -f "$old"
      old=${old##*/} old=${old%.tar}
      buildah_ rmi "localhost/seawall/${old%-*}:${old##*-}" >/dev/null 2>&1 </dev/null || true
    done
}

build_with_docker() {
  local ref=$1 context=$2 dockerfile=$3; shift 3
  ! docker image inspect "$ref" >/dev/null 2>&1 || return 0
  say "building $ref with Docker"
  DOCKER_BUILDKIT=1 docker build "$@" -t "$ref" -f "$dockerfile" "$context"
}

# stage DIR: the context as it was hashed.
stage() {
  rm -rf "$1"; mkdir -p "$1"
  (cd "$context" && existing | tar --null --no-recursion -T - -cf -) | tar -C "$1" -xf -
}

existing() { # files of the context that count and exist, NUL-separated
  source_files "$context" "${only[@]}" | (cd "$context" && while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done)
}

[ $# -gt 0 ] || usage
if [ "$1" = --base ]; then
  ! has_docker || die "with Docker the Dockerfiles' own base image is used"
  build_base
  echo "$BASE_IMAGE" >&3
  exit
fi
[ $# -ge 2 ] || usage
name=$1 context=$(cd "$2" && pwd) dockerfile=''; shift 2
only=() inputs=() contexts=() scratch='' given='' target='' list=''
while [ $# -gt 0 ]; do
  case $1 in
  --only | --input) list=${1#--} ;;
  --build-context) contexts+=("$2"); list=''; shift ;;
  --base-image) given=$2 list=''; shift ;;
  --target) target=$2 list=''; shift ;;
  --scratch) scratch=yes list='' ;;
  --help | -h | -*) usage ;;
  *)
    case $list in
    only) only+=("$1") ;;
    input) inputs+=("$1") ;;
    *) [ -z "$dockerfile" ] || usage; dockerfile=$1 ;;
    esac
    ;;
  esac
  shift
done
dockerfile=${dockerfile:-$context/Dockerfile}
# As `docker build -f`: relative to where it is called; else to the context.
[ -f "$dockerfile" ] || dockerfile=$context/$dockerfile
[ -f "$dockerfile" ] || die "no Dockerfile $dockerfile"

base='' options=()
if [ "$given" ]; then
  base=$given
  options+=(--build-arg "BASE_IMAGE=$base")
elif has_docker; then
  base=$(sed -n 's/^ARG BASE_IMAGE=//p' "$dockerfile" | head -1)
elif [ -z "$scratch" ]; then
  build_base
  base=$BASE_IMAGE
  options+=(--build-arg "BASE_IMAGE=$base")
fi
[ -z "$target" ] || options+=(--target "$target")
for entry in "${contexts[@]}"; do options+=(--build-context "$entry"); done

key=$(
  {
    echo "$name $base${target:+ $target}"
    sha256sum <"$dockerfile"
    mapfile -d '' -t files < <(existing)
    [ ${#files[@]} -eq 0 ] || tree_manifest "$context" "${files[@]}"
    for entry in "${contexts[@]}"; do echo "${entry%%=*}"; tree_manifest "${entry#*=}"; done
    for path in "${inputs[@]}"; do
      if [ -d "$path" ]; then tree_manifest "$path"; else tree_manifest "$(dirname "$path")" "$(basename "$path")"; fi
    done
  } | hash_of
)
ref=localhost/seawall/$name:$key
staged=$CACHE/stage/$name-$key.$$
trap 'rm -rf "$staged"' EXIT
if has_docker; then
  stage "$staged"
  build_with_docker "$ref" "$staged" "$dockerfile" "${options[@]}"
elif [ -e "$(archive_of "$ref")" ]; then
  touch "$(archive_of "$ref")"   # used just now: not to be pruned
else
  stage "$staged"
  with_lock "image-$name-$key" build_archive "$ref" "$staged" "$dockerfile" "${options[@]}"
fi
echo "$ref" >&3
