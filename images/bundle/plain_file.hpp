// SPDX-License-Identifier: Apache-2.0
// Opens files in directories that another user can write: an OCI image layout, or the blob store and its
// catalogue. An unprivileged worker writes the store and the catalogue, and the daemon reads them.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::images {

/// Opens a regular file for reading. Fails with BadContent if `path` names anything else: a symbolic link is
/// not followed, and a pipe does not block the call.
[[nodiscard]] base::Result<base::UniqueFd> open_plain_file(const base::Root& root, std::string_view path);
/// Opens a file in the same way and returns its content. `limit` is the largest size in bytes, as for
/// Root::read().
[[nodiscard]] base::Result<std::string> read_plain_file(const base::Root& root, std::string_view path,
                                                        std::size_t limit);

} // namespace gpuhost::images
