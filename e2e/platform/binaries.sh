#!/usr/bin/env bash
# Builds the cluster's programs from the Go module proxy, once for each state of tools/, and
# prints the folder that holds kubectl, helm, kube-apiserver, etcd and the others.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

KUBERNETES=v1.34.4
HELM=v3.19.5

build() {
  [ ! -e "$out/kubectl" ] || return 0
  find_go
  local tmp="$out.tmp" log="$CACHE/log/binaries.log" name
  # Without these, nodes report version v0.0.0-master and helm believes it talks to Kubernetes 1.20.
  local version=k8s.io/component-base/version helm=helm.sh/helm/v3
  local ldflags="-s -w -X $version.gitVersion=$KUBERNETES -X $version.gitMajor=1 -X $version.gitMinor=34
    -X $version.gitTreeState=clean -X $version.buildDate=2026-01-01T00:00:00Z
    -X $helm/internal/version.version=$HELM
    -X $helm/pkg/chartutil.k8sVersionMajor=1 -X $helm/pkg/chartutil.k8sVersionMinor=34"
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp"
  say "building Kubernetes $KUBERNETES and helm $HELM (some 7 minutes the first time; log: $log)"
  go_build -ldflags="$ldflags" -o "$tmp/" ./cmd/kube ./cmd/fwd ./cmd/pause helm.sh/helm/v3/cmd/helm >"$log" 2>&1 ||
    { tail -20 "$log"; die "the Go build failed (log: $log)"; }
  for name in etcd coredns kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
    ln -s kube "$tmp/$name"
  done
  # The one program that runs in a container: apart, as the build context of its image.
  mkdir "$tmp/pause-image"; mv "$tmp/pause" "$tmp/pause-image/"
  mv "$tmp" "$out"   # last: an interrupted build leaves no entry
  say "built $out"
}

packages git ca-certificates
key=$({ tree_manifest "$PLATFORM/tools"; cat "${BASH_SOURCE[0]}"; } | hash_of)
out=$CACHE/bin/$key
[ -e "$out/kubectl" ] || with_lock "bin-$key" build
echo "$out" >&3
