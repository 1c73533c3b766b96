// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names what is built from other modules, for `go mod tidy`.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
