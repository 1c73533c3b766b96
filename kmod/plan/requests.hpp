// SPDX-License-Identifier: Apache-2.0
// Plans for requests that import, build, remove and verify drivers. Pure: `observed` is the driver
// component's (org.gpuhost1(5)). Checks that need the file system are left to the steps' preflight.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/core/plan.hpp"
#include "kmod/driver_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Plans an import. `names` are the names of the descriptors passed with the request, in the same order: all
/// packages or all modules. `protect` lists versions into which the caller may not import. File names of such
/// a version, or without a version, are then a problem (AccessDenied). Publishing fails if the files turn out
/// to be of such a version.
[[nodiscard]] core::Plan import_plan(const std::vector<std::string>& names,
                                     const std::vector<std::string>* protect = nullptr);

/// Returns the versions that load without a further decision: configured, loaded, or selected for a kernel.
[[nodiscard]] std::vector<std::string> versions_in_use(const base::Json& observed);

/// Plans a build. Empty `kernels`: the running one. `again`: also build what is in the store already, which
/// replaces a damaged set. If `settings` name a key, unsigned modules are signed. Unsigned sets in the store
/// are signed into another set.
[[nodiscard]] core::Plan build_plan(const std::string& version, const std::vector<std::string>& kernels,
                                    bool again, const DriverSettings& settings, const base::Json& observed);

/// Plans a removal. `pins` are versions that must stay.
[[nodiscard]] core::Plan remove_plan(const std::string& version, const std::vector<std::string>& pins,
                                     const base::Json& observed);

/// Plans a verification. Empty `version`: every version in the store.
[[nodiscard]] core::Plan verify_plan(const std::string& version, const base::Json& observed);

} // namespace gpuhost::kmod
