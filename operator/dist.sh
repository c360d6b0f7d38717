#!/usr/bin/env bash
# Builds what people install into a folder: the wheel, for each platform the command as one file (a zipapp that holds the
# compiled parts for several Pythons) and an archive of it, and the manifest for krew, which names the archives by their checksums.
#   [PYTHONS="3.11 3.12"] operator/dist.sh FOLDER [os-arch …]; default: all of PLATFORMS
set -euo pipefail
cd "$(dirname "$0")/.."
declare -A PLATFORMS=(
  [linux-amd64]=x86_64-manylinux_2_28 [linux-arm64]=aarch64-manylinux_2_28 [darwin-amd64]=x86_64-apple-darwin [darwin-arm64]=aarch64-apple-darwin
)
read -ra PYTHONS <<<"${PYTHONS:-3.11 3.12 3.13 3.14}"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
uv=$(requirements/uv.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$uv" build --quiet --wheel --no-build-isolation --python .venv/bin/python --no-create-gitignore --out-dir "$folder" operator
version=$(sed -n 's/^version = "\(.*\)"/\1/p' operator/pyproject.toml)
install() { "$uv" pip install --quiet --target "$1" --python-version "$2" --python-platform "$3" --no-deps "${@:4}"; }
for platform in "$@"; do
  first=$work/$platform/${PYTHONS[0]}
  for python in "${PYTHONS[@]}"; do
    install "$work/$platform/$python" "$python" "${PLATFORMS[$platform]}" --only-binary :all: --require-hashes -r requirements/cli.lock
    # What is compiled has the Python in its name, so all of them have room side by side.
    [ "$python" = "${PYTHONS[0]}" ] || (cd "$work/$platform/$python" && find . -name '*.so' -exec cp --parents -t "$first" {} +)
  done
  install "$first" "${PYTHONS[0]}" "${PLATFORMS[$platform]}" "$folder/seawall-$version-py3-none-any.whl"
  # Where and when it was installed from, which differs each time.
  rm "$first"/seawall-*.dist-info/{direct_url,uv_cache}.json
  sed -i '/\/\(direct_url\|uv_cache\)\.json,/d' "$first"/seawall-*.dist-info/RECORD
  # Nine tenths of all that would be unpacked: models of every kind of Kubernetes (docs/adr/0005-api-client-without-models.md),
  # the client's other half with its library, and a parser of YAML in C.
  rm -rf "$first"/kubernetes/aio "$first"/kubernetes/client/{api,models}/[a-z]*.py "$first/bin" "$first"/yaml/*.so \
    "$first"/{aiohttp,aiohttp_retry,aiosignal,aiohappyeyeballs,attr,attrs,frozenlist,multidict,propcache,yarl}{,-[0-9]*}
  .venv/bin/shiv --compressed --reproducible --site-packages "$first" --entry-point seawall.__main__:main \
    --python '/usr/bin/env python3' --output-file "$folder/seawall-$version-$platform.pyz" >/dev/null
  mkdir "$work/$platform/archive"
  cp "$folder/seawall-$version-$platform.pyz" "$work/$platform/archive/kubectl-seawall"
  cp LICENSE "$work/$platform/archive/"
  tar --sort=name --owner=0 --group=0 --mtime="@${SOURCE_DATE_EPOCH:-0}" -C "$work/$platform/archive" -cf - . | gzip -n >"$folder/seawall-$version-$platform.tar.gz"
done
.venv/bin/python -m seawall.cli.krew --version "$version" --folder "$folder" --output "$folder/seawall.yaml"
