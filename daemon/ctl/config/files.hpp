// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/settings.hpp"
#include "daemon/ctl/cli/arguments.hpp"

namespace gpuhost::ctl {

/// Returns the files of the host, or of the system below --root. Fails if the user may not read one. A file
/// that cannot be read for another reason stays in the list with its error; gpuhostd skips it.
[[nodiscard]] base::Result<std::vector<core::SettingsFile>> files_of_host(const Arguments& given);

} // namespace gpuhost::ctl
