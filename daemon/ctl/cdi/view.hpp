// SPDX-License-Identifier: Apache-2.0
// The documents of daemon/runtime/cdi/spec_documents.hpp as text for people. Pure functions, as those of view.hpp.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Of list_devices(), show_device() and check_files().
[[nodiscard]] std::string render_cdi_devices(const Screen& screen, const base::Json& list);
[[nodiscard]] std::string render_cdi_device(const Screen& screen, const base::Json& device);
[[nodiscard]] std::string render_cdi_files(const Screen& screen, const base::Json& checked);

} // namespace gpuhost::ctl
