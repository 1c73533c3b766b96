// SPDX-License-Identifier: Apache-2.0
// Files that somebody else owns: a bundle's directory, or the store, which is an unprivileged worker's and the daemon
// reads it.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::images {

/// No link is followed at its end and no pipe waited for: BadContent if it is no regular file.
[[nodiscard]] base::Result<base::UniqueFd> open_plain_file(const base::Root& root, std::string_view path);
/// All of it, as Root::read().
[[nodiscard]] base::Result<std::string> read_plain_file(const base::Root& root, std::string_view path,
                                                        std::size_t limit);

} // namespace gpuhost::images
