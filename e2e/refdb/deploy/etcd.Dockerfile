# etcd alone, from the platform's one binary. Build: e2e/refdb/images.sh
FROM scratch
COPY --from=binaries kube /usr/local/bin/etcd
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/etcd"]
