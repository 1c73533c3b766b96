// SPDX-License-Identifier: Apache-2.0
// Opens files that another user owns: those of a bundle's directory, or of the store. An unprivileged worker
// writes the store and the daemon reads it.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::images {

/// Opens a regular file. Does not follow a link at the end of `path`, and does not wait for a pipe. Fails
/// with BadContent for any other kind of file.
[[nodiscard]] base::Result<base::UniqueFd> open_plain_file(const base::Root& root, std::string_view path);
/// Reads the whole file, as Root::read() does.
[[nodiscard]] base::Result<std::string> read_plain_file(const base::Root& root, std::string_view path,
                                                        std::size_t limit);

} // namespace gpuhost::images
