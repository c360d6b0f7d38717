//go:build tools

// Package tools keeps the object store of tests, which has no import here, in
// go.mod: an S3 server that keeps its objects in a folder.
package tools

import _ "github.com/versity/versitygw/cmd/versitygw"
