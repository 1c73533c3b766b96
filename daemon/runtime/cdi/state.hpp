// SPDX-License-Identifier: Apache-2.0
// Compares the published specifications with the current driver.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/runtime/cdi_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns the following, and never waits for a GPU:
///
///   {"inputs": cdi_inputs(), "record": null without one, "unrecorded": unrecorded_paths(),
///    "missing": [paths], "changed": [paths]}
[[nodiscard]] base::Json observe_cdi(const base::Root& host);

/// Returns the version of the loaded driver; empty: none.
[[nodiscard]] std::string observed_driver(const base::Json& observed);

/// Returns the reasons to publish, for people to read; empty: all is current.
[[nodiscard]] std::vector<std::string> cdi_reasons(const CdiSettings& settings, const base::Json& observed);

} // namespace gpuhost::runtime
