// SPDX-License-Identifier: Apache-2.0
// Whether containers are told of the driver as it is now.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/runtime/cdi_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// {"inputs": cdi_inputs(), "record": null without one, "unrecorded": unrecorded_paths(), "missing", "changed": [paths]}. Never waits for a GPU.
[[nodiscard]] base::Json observe_cdi(const base::Root& host);

/// Of the driver that is loaded; empty: none is.
[[nodiscard]] std::string observed_driver(const base::Json& observed);

/// What there is to be done, for people to read; empty: all is as it should be.
[[nodiscard]] std::vector<std::string> cdi_reasons(const CdiSettings& settings, const base::Json& observed);

} // namespace gpuhost::runtime
