//go:build tools

// Package tools keeps what signs a release, which has no import here, in go.mod.
package tools

import _ "github.com/sigstore/cosign/v3/cmd/cosign"
