// SPDX-License-Identifier: Apache-2.0
// `toolkit show` (org.gpuhost1(5)): read by who asks, since somebody else's config.toml is none of the daemon's to parse.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

namespace gpuhost::runtime {

[[nodiscard]] base::Json toolkit_document(const base::Root& root, const ToolkitSettings& settings);

} // namespace gpuhost::runtime
