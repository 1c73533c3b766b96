// SPDX-License-Identifier: Apache-2.0
// Renders the documents of daemon/runtime/cdi/spec_documents.hpp as text. Pure functions.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Render list_devices(), show_device() and check_files().
[[nodiscard]] std::string render_cdi_devices(const Screen& screen, const base::Json& list);
[[nodiscard]] std::string render_cdi_device(const Screen& screen, const base::Json& device);
[[nodiscard]] std::string render_cdi_files(const Screen& screen, const base::Json& checked);

} // namespace gpuhost::ctl
