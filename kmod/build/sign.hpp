// SPDX-License-Identifier: Apache-2.0
// Step build.sign: modules that nobody has signed get the site's signature, as a set of its own in the staging directory.
//
// It reads manifests and bytes of modules, and parses none of these: with the private key in its memory it looks into
// nothing that foreign source has made.
#pragma once

#include "daemon/core/step.hpp"
#include "kmod/driver_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// args: {"version", "kernel", "flavour", "signing": as to_json() makes it, "set"}. "set" is the path of a set in the store;
/// without it the one that build.compile has staged is signed.
[[nodiscard]] core::StepKind build_sign_kind();

[[nodiscard]] base::Json to_json(const SigningSettings& signing);
/// What of the settings can't be meant; a pure function of them.
[[nodiscard]] std::vector<core::Problem> signing_problems(const SigningSettings& signing);

} // namespace gpuhost::kmod
