// SPDX-License-Identifier: Apache-2.0

package cloud

type Configuration struct{}

var AzureChina, AzureGovernment, AzurePublic Configuration
