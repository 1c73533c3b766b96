// SPDX-License-Identifier: Apache-2.0
// JSON documents about specifications for gpuhostctl. org.gpuhost1(5) describes them.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/runtime/cdi/spec_files.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns all files, and the devices that containers can request.
[[nodiscard]] base::Json list_devices(const std::vector<SpecFile>& files);

/// Returns the containerEdits of a container with the device `name`. Fails with NotFound if no valid file has
/// the device.
[[nodiscard]] base::Result<base::Json> show_device(const std::vector<SpecFile>& files,
                                                   const std::string& name);

/// Returns the files as in list_devices(). The problems of a file also name devices that another file of the
/// same directory has.
[[nodiscard]] base::Json check_files(const std::vector<SpecFile>& files);

} // namespace gpuhost::runtime
