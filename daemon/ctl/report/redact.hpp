// SPDX-License-Identifier: Apache-2.0
// What nobody outside is to read is masked before it leaves a host. Where it is not clear where a secret ends, the rest of its
// line goes with it. gpuhostctl(1) lists what is masked.
#pragma once

#include "daemon/base/json.hpp"

#include <string>
#include <string_view>

namespace gpuhost::ctl {

inline constexpr std::string_view mask = "[masked]";

/// Private keys in PEM, values of names like "password" or "token", credentials in URLs and HTTP headers, JSON Web Tokens.
[[nodiscard]] std::string redact(std::string_view text);
/// The same for each text of a document, and values by their keys.
[[nodiscard]] base::Json redact_document(const base::Json& document);

} // namespace gpuhost::ctl
