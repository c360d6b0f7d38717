//go:build tools

// Package tools keeps what says what is in an image, which has no import here, in go.mod.
package tools

import _ "github.com/anchore/syft/cmd/syft"
