#!/usr/bin/env bash
# Makes namespace kafka and, once, its Secrets: kafka-ca (ca.crt), kafka-tls (tls.crt, tls.key of the
# brokers) and kafka-user (username, password). From the caller: KUBECONFIG, KUBECTL.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kube() { "$KUBECTL" --request-timeout=20s "$@"; }
put() { kube -n kafka create secret "$@" --dry-run=client -o yaml | kube apply -f - >/dev/null; }

kube apply -f - >/dev/null <<'K'
apiVersion: v1
kind: Namespace
metadata:
  name: kafka
  labels: {pod-security.kubernetes.io/enforce: restricted}
K
# kafka-user is written last: where it is, all are.
[ -z "$(kube -n kafka get secret kafka-user --ignore-not-found -o name)" ] || exit 0

cd "$work"
umask 077
names="DNS:kafka.kafka,DNS:kafka.kafka.svc,DNS:kafka.kafka.svc.cluster.local"
names+=",DNS:*.kafka.kafka,DNS:*.kafka.kafka.svc,DNS:*.kafka.kafka.svc.cluster.local,DNS:localhost"
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out ca.key
openssl req -x509 -new -key ca.key -days 3650 -subj /CN=seawall-kafka-ca -out ca.crt \
  -addext keyUsage=critical,keyCertSign,cRLSign
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out tls.key
openssl req -new -key tls.key -subj /CN=kafka -out tls.csr
printf 'keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\nsubjectAltName=%s\n' "$names" >tls.ext
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile tls.ext -out tls.crt 2>/dev/null
printf seawall >username
openssl rand -hex 16 | tr -d '\n' >password

put generic kafka-ca --from-file=ca.crt
put tls kafka-tls --cert=tls.crt --key=tls.key
put generic kafka-user --from-file=username --from-file=password
