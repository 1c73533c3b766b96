// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct TextMember {
    std::string path; ///< relative
    std::string text;
};

/// A tar, packed with gzip, of files that root alone reads, in this order. The same members and time, seconds since 1970, make
/// the same bytes.
[[nodiscard]] base::Result<std::string> pack_texts(const std::vector<TextMember>& members,
                                                   std::uint64_t time);

} // namespace gpuhost::content
