// SPDX-License-Identifier: Apache-2.0
// What people ask about specifications, as documents: org.gpuhost1(5) describes them.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/runtime/cdi/spec_files.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// All files, and the devices that containers can ask for.
[[nodiscard]] base::Json list_devices(const std::vector<SpecFile>& files);

/// What a container gets with the device `name`. NotFound if no file has it that runtimes take.
[[nodiscard]] base::Result<base::Json> show_device(const std::vector<SpecFile>& files,
                                                   const std::string& name);

/// The files alone, as in list_devices(), with names that two of one directory claim among their problems.
[[nodiscard]] base::Json check_files(const std::vector<SpecFile>& files);

} // namespace gpuhost::runtime
