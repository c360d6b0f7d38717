#!/usr/bin/env bash
# Builds a release into a folder, and with a registry pushes images and charts there.
#   release/build.sh VERSION FOLDER [REGISTRY/PATH]
# KEY: cosign's private key (its password: COSIGN_PASSWORD); without, nothing is signed, and that is said.
# ARCHITECTURES: which images the index has, default: this machine's; the others were pushed by release/images.sh on machines
# of their own. PLATFORMS, PYTHONS: as operator/dist.sh has them. PLAIN_HTTP=1: for a registry without TLS.
# Of one commit, all files but the images come out the same, byte by byte (SOURCE_DATE_EPOCH is the time of the commit).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
version=$1 registry=${3:-}
mkdir -p "$2"
folder=$(cd "$2" && pwd)
[ -z "$(ls -A "$folder")" ] || die "$2 is not empty"
python=$REPO/.venv/bin/python
"$python" "$REPO/release/versions.py" --check "$version" || die "the tree is not $version: make release-prepare VERSION=$version"

# What people install: the command.
read -ra platforms <<<"${PLATFORMS:-}"
"$REPO/operator/dist.sh" "$folder" "${platforms[@]}"

# The CRDs, in one file.
for crd in "$REPO"/crds/*.yaml; do echo '---'; cat "$crd"; done >"$folder/crds.yaml"
"$python" "$REPO/release/versions.py" --notes "$version" >"$folder/CHANGELOG.md"

# What is in it: by the locks, of which the images are made, too. (Backup and subscription share one lock, which has only what
# they need beyond the verification's.)
while read -r name lock project; do
  "$REPO/.venv/bin/cyclonedx-py" requirements "$REPO/requirements/$lock.lock" --pyproject "$REPO/$project/pyproject.toml" \
    --output-reproducible --no-validate -o "$folder/seawall-$version-$name.cdx.json" 2>"$work/cyclonedx.log" ||
    { cat "$work/cyclonedx.log" >&2; exit 1; }
done <<'LOCKS'
cli cli operator
operator operator operator
verification verification spark-apps/replay-verification
backup store spark-apps/wal-backup
subscription store spark-apps/wal-subscription
LOCKS

digest='' reference=seawall
if [ "$registry" ]; then
  "$REPO/release/images.sh" "$version" "$registry"
  for image in "${IMAGES[@]}"; do
    found=$(join_architectures "$registry/$image" "$version")
    echo "$registry/$image@$found" >>"$folder/images.txt"
    [ "$image" != operator ] || digest=$found reference=$registry/operator
  done
fi

# The charts. In a release, the operator's names its image by digest.
for chart in seawall seawall-crds; do
  cp -r "$REPO/charts/$chart" "$work/$chart"
  if [ "$digest" ] && [ "$chart" = seawall ]; then
    sed -i "s|^  repository: seawall$|  repository: $reference|; s|^  digest: \"\" |  digest: $digest |" "$work/seawall/values.yaml"
    grep -q "digest: $digest" "$work/seawall/values.yaml" || die "the chart's values.yaml has no place for the digest"
  fi
  "$(helm_)" lint --strict "$work/$chart" >"$work/lint.log" || { cat "$work/lint.log" >&2; exit 1; }
  # As `helm package` does, but for the times of the files in it.
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX -C "$work" -cf - "$chart" |
    gzip -n >"$folder/$chart-$version.tgz"
  [ -z "$registry" ] || echo "$registry/charts/$chart@$(push_chart "$folder/$chart-$version.tgz" "$registry/charts")" >>"$folder/images.txt"
done

if [ "$registry" ]; then
  for image in "${IMAGES[@]}"; do sbom_of "$registry/$image" "$version" "$folder/seawall-$version-image-$image.cdx.json"; done
fi
(cd "$folder" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
if [ "${KEY:-}" ]; then
  sign_file "$folder/SHA256SUMS"
  [ ! -e "$folder/images.txt" ] || while read -r each; do sign_image "$each"; done <"$folder/images.txt"
else
  say "nothing is signed: no KEY was named"
fi
say "release $version is in $folder"
