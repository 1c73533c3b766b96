// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names what is built from other modules, for `go mod tidy`.
package tools

import _ "github.com/google/go-containerregistry/cmd/crane"
