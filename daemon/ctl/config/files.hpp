// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/settings.hpp"
#include "daemon/ctl/cli/arguments.hpp"

namespace gpuhost::ctl {

/// Returns the files of the host, or of the system below --root. Fails if the user may not read one. Another
/// unreadable file is a mistake, which gpuhostd ignores.
[[nodiscard]] base::Result<std::vector<core::SettingsFile>> files_of_host(const Arguments& given);

} // namespace gpuhost::ctl
