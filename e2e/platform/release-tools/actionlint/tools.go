//go:build tools

// Package tools keeps what checks .github/workflows, which has no import here, in go.mod.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
