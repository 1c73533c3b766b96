// SPDX-License-Identifier: Apache-2.0

// Package http stands in for the client of Google, which is expensive to build.
package http

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/api/option"
)

func NewTransport(context.Context, http.RoundTripper, ...option.ClientOption) (http.RoundTripper, error) {
	return nil, errors.ErrUnsupported
}
