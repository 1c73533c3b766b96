// SPDX-License-Identifier: Apache-2.0
// Step build.sign: copies a module set to the staging directory, and signs its unsigned modules with the
// site's key. The result is a new set.
//
// The step reads manifests and the bytes of modules, but parses no module. A process that has the private key
// in memory must not parse files that were built from source of others.
#pragma once

#include "daemon/core/step.hpp"
#include "kmod/driver_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// args: {"version", "kernel", "flavour", "signing": to_json() of the settings, "set"}. "set" is the path of
/// a module set in the store; without it, the set that build.compile has staged is signed.
[[nodiscard]] core::StepCode build_sign_code();

[[nodiscard]] base::Json to_json(const SigningSettings& signing);
/// Returns what is wrong with the signing settings alone, without reading files. Pure.
[[nodiscard]] std::vector<core::Problem> signing_problems(const SigningSettings& signing);

} // namespace gpuhost::kmod
