// SPDX-License-Identifier: Apache-2.0
// Masks secrets in messages of gpuhost's own programs. They are the only free text of a report, and may quote
// a server's answer or the last line of another program. All other parts of a report are allow-lists.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <string>
#include <string_view>

namespace gpuhost::ctl {

inline constexpr std::string_view mask = "[masked]";

/// Masks private keys in PEM, and user and password of URLs. Masks the rest of a line after "Bearer" or
/// "Basic", and after a name such as "password" or "token" with a ':' or '='.
[[nodiscard]] std::string redact(std::string text);
/// Masks the texts of a document as redact() does.
[[nodiscard]] base::Json redact_document(base::Json document);

} // namespace gpuhost::ctl
