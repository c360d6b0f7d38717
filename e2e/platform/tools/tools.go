//go:build tools

// Package tools keeps the programs that are built from their own modules, but
// have no import here, in go.mod: helm, and the Spark Operator for the replay
// verification environment.
package tools

import (
	_ "github.com/kubeflow/spark-operator/v2/cmd/operator"
	_ "helm.sh/helm/v3/cmd/helm"
)
