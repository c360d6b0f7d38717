//go:build tools

// Package tools keeps greptimedb-operator and its initializer, which have no import here, in go.mod.
package tools

import (
	_ "github.com/GreptimeTeam/greptimedb-operator/cmd/initializer"
	_ "github.com/GreptimeTeam/greptimedb-operator/cmd/operator"
)
