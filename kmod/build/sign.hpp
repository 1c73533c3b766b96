// SPDX-License-Identifier: Apache-2.0
// Step build.sign: signs the unsigned modules of a set with the site's key, as a set of its own in the
// staging directory.
//
// It reads manifests and the bytes of modules but parses no module. A process with the private key in memory
// must not parse what foreign source has made.
#pragma once

#include "daemon/core/step.hpp"
#include "kmod/driver_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// args: {"version", "kernel", "flavour", "signing": from to_json(), "set"}. "set" is the path of a set in
/// the store; without it, the set that build.compile staged is signed.
[[nodiscard]] core::StepKind build_sign_kind();

[[nodiscard]] base::Json to_json(const SigningSettings& signing);
/// Returns problems of the settings. Pure.
[[nodiscard]] std::vector<core::Problem> signing_problems(const SigningSettings& signing);

} // namespace gpuhost::kmod
