// SPDX-License-Identifier: Apache-2.0

package policy

type TokenRequestOptions struct {
	Scopes []string
}
