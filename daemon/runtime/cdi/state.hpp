// SPDX-License-Identifier: Apache-2.0
// Compares the published specifications with the current driver.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "daemon/runtime/cdi_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns the following document. Never waits for a GPU.
///
///   {"inputs": cdi_inputs(), "record": the CdiRecord or null, "unrecorded": unrecorded_paths(),
///    "missing": [recorded files that do not exist],
///    "changed": [recorded files that another program changed], "programs": [changed programs of runtimes]}
[[nodiscard]] base::Json observe_cdi(const base::Root& host);

/// Returns the version of the loaded driver from a document of observe_cdi(); "" if none is loaded.
[[nodiscard]] std::string observed_driver(const base::Json& observed);

/// Returns the reasons to run the step cdi.publish, for people to read; empty if all files are current.
[[nodiscard]] std::vector<std::string> cdi_reasons(const CdiSettings& settings, const base::Json& observed);

} // namespace gpuhost::runtime
