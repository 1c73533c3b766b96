// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names what is built from this module, for `go mod tidy`.
package tools

import _ "k8s.io/kubernetes/cmd/kubelet"
