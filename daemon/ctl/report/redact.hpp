// SPDX-License-Identifier: Apache-2.0
// Masks secrets before a text leaves the host. If it is unclear where a secret ends, the rest of its line is
// masked, too. gpuhostctl(1) lists what is masked.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <string>
#include <string_view>

namespace gpuhost::ctl {

inline constexpr std::string_view mask = "[masked]";

/// Masks private keys in PEM, values of names like "password" or "token", credentials in URLs and HTTP
/// headers, and JSON Web Tokens.
[[nodiscard]] std::string redact(std::string_view text);
/// Masks the texts of a document as redact() does. Also masks values whose keys are names of secrets.
[[nodiscard]] base::Json redact_document(const base::Json& document);

} // namespace gpuhost::ctl
