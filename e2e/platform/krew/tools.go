//go:build tools

// Package krew pins krew's own validator of manifests, which a test asks: krew.sh builds it.
package krew

import _ "sigs.k8s.io/krew/cmd/validate-krew-manifest"
