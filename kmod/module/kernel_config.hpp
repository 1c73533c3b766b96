// SPDX-License-Identifier: Apache-2.0
// The configuration with which a kernel was built, from /boot/config-RELEASE.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::kmod {

/// Returns the configuration's text; empty if the distribution installs none.
[[nodiscard]] std::string kernel_config(const base::Root& root, const std::string& release);

/// Returns whether a kernel with this configuration can verify module signatures that use the hash algorithm
/// `hash` ("sha512"). Returns true if the configuration is empty or does not mention the algorithm.
[[nodiscard]] bool supports_hash(std::string_view config, std::string_view hash);

} // namespace gpuhost::kmod
