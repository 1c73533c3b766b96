// SPDX-License-Identifier: Apache-2.0

// Package azcore stands in for the client of Azure, which is expensive to build.
package azcore

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

type ClientOptions struct {
	Cloud cloud.Configuration
}

type AccessToken struct {
	Token     string
	ExpiresOn time.Time
}

type TokenCredential interface {
	GetToken(context.Context, policy.TokenRequestOptions) (AccessToken, error)
}
