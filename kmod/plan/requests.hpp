// SPDX-License-Identifier: Apache-2.0
// Plans for the driver component's requests "import", "build", "remove" and "verify". Pure.
// Checks that need the file system are in the preflight of the steps.
#pragma once

#include "daemon/core/plan.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/observe/observed.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Plans an import. `names` are the file names of the descriptors that were passed with the request, in the
/// same order: either all packages or all modules. Files of another version than `wanted` are refused (empty:
/// of any version). `protect` lists versions into which the caller may not import (null: none). A file name
/// with such a version, or without a version, is then a problem (AccessDenied). If the files are of such a
/// version in spite of their names, store.publish fails.
[[nodiscard]] core::Plan import_plan(const std::vector<std::string>& names, const std::string& wanted = {},
                                     const std::vector<std::string>* protect = nullptr);

/// Returns the driver versions in use: configured, loaded, or selected for a kernel. A host may load them
/// without a further request, so only root may import into them.
[[nodiscard]] std::vector<std::string> versions_in_use(const Observed& observed);

/// Plans a build of modules for `kernels`; empty: for the running kernel. With `again`, builds also if the
/// store has the modules already, which replaces a damaged set. If `settings` name a signing key, built
/// modules are signed. If the store has unsigned modules, they are not built again, but a signed copy of the
/// set is made.
[[nodiscard]] core::Plan build_plan(const std::string& version, const std::vector<std::string>& kernels,
                                    bool again, const DriverSettings& settings, const Observed& observed);

/// Plans the removal of a driver version from the store. `pins` are versions that must stay (Pin=).
[[nodiscard]] core::Plan remove_plan(const std::string& version, const std::vector<std::string>& pins,
                                     const Observed& observed);

/// Plans a comparison of the files of `version` in the store with their digests. If `version` is empty, the
/// plan compares the files of every version.
[[nodiscard]] core::Plan verify_plan(const std::string& version, const Observed& observed);

} // namespace gpuhost::kmod
