// SPDX-License-Identifier: Apache-2.0

// Package azidentity stands in for the client of Azure, which is expensive to build.
package azidentity

import (
	"crypto"
	"crypto/x509"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

type ClientID string

type ManagedIdentityCredentialOptions struct {
	ClientOptions azcore.ClientOptions
	ID            ClientID
}

type WorkloadIdentityCredentialOptions struct {
	ClientOptions                     azcore.ClientOptions
	ClientID, TenantID, TokenFilePath string
}

type ClientSecretCredentialOptions struct {
	ClientOptions azcore.ClientOptions
}

type DefaultAzureCredentialOptions struct {
	ClientOptions azcore.ClientOptions
	TenantID      string
}

type ClientCertificateCredentialOptions struct {
	ClientOptions        azcore.ClientOptions
	SendCertificateChain bool
}

func NewManagedIdentityCredential(*ManagedIdentityCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errors.ErrUnsupported
}

func NewWorkloadIdentityCredential(*WorkloadIdentityCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errors.ErrUnsupported
}

func NewClientSecretCredential(_, _, _ string, _ *ClientSecretCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errors.ErrUnsupported
}

func NewDefaultAzureCredential(*DefaultAzureCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errors.ErrUnsupported
}

func NewClientCertificateCredential(_, _ string, _ []*x509.Certificate, _ crypto.PrivateKey, _ *ClientCertificateCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errors.ErrUnsupported
}

func ParseCertificates([]byte, []byte) ([]*x509.Certificate, crypto.PrivateKey, error) {
	return nil, nil, errors.ErrUnsupported
}
