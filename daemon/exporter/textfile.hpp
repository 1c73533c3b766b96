// SPDX-License-Identifier: Apache-2.0
// Writes a file for the textfile collector of node_exporter.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::exporter {

/// Replaces `path` atomically; its mode becomes 0644. Follows no symbolic link: another user may own a
/// directory above the file, and could lead root elsewhere. Fails if `path` exists and is not a regular file.
[[nodiscard]] base::Result<void> write_textfile(const std::string& path, const std::string& text);

} // namespace gpuhost::exporter
