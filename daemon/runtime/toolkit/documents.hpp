// SPDX-License-Identifier: Apache-2.0
// The document of "toolkit show" (org.gpuhost1(5)). gpuhostctl builds it, because the daemon must not parse
// another program's config.toml.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

namespace gpuhost::runtime {

[[nodiscard]] base::Json toolkit_document(const base::Root& root, const ToolkitSettings& settings);

} // namespace gpuhost::runtime
