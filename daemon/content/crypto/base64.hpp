// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::content {

/// Encodes as RFC 4648's base64 with its padding, on one line.
[[nodiscard]] std::string encode_base64(std::string_view bytes);
/// Decodes base64; skips line breaks, as Go's decoder does. Returns nullopt for other characters
/// and wrong padding.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

} // namespace gpuhost::content
