// SPDX-License-Identifier: Apache-2.0
// Plans of the requests that bring drivers in and take them out. Pure: `observed` is the driver component's
// (org.gpuhost1(5)). What only the file system can tell is left to the steps' preflight.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/core/plan.hpp"
#include "kmod/driver_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// `names` are those of the descriptors that come with the request, in their order: all packages or all
/// modules. `protect`: versions that this caller may not import into. Then file names without another version are a problem
/// (AccessDenied), and publishing fails if the files turn out to be of such a version.
[[nodiscard]] core::Plan import_plan(const std::vector<std::string>& names,
                                     const std::vector<std::string>* protect = nullptr);

/// Versions that load without a further decision: configured, loaded, or selected for a kernel.
[[nodiscard]] std::vector<std::string> versions_in_use(const base::Json& observed);

/// `kernels` empty: the running one. `again`: also what is in the store already; a damaged set is exchanged so.
/// Where `settings` name a key, modules that nobody has signed are signed, also those that the store has: as another set.
[[nodiscard]] core::Plan build_plan(const std::string& version, const std::vector<std::string>& kernels,
                                    bool again, const DriverSettings& settings, const base::Json& observed);

/// `pins` are versions that stay.
[[nodiscard]] core::Plan remove_plan(const std::string& version, const std::vector<std::string>& pins,
                                     const base::Json& observed);

/// `version` empty: every one in the store.
[[nodiscard]] core::Plan verify_plan(const std::string& version, const base::Json& observed);

} // namespace gpuhost::kmod
