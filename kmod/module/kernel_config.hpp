// SPDX-License-Identifier: Apache-2.0
// The configuration with which a kernel was built, from /boot/config-RELEASE.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::kmod {

/// Returns an empty text if the distribution installs none.
[[nodiscard]] std::string kernel_config(const base::Root& root, const std::string& release);

/// Returns whether a kernel with this configuration can check module signatures over `hash` ("sha512").
/// Returns true if the configuration is missing or does not mention it.
[[nodiscard]] bool supports_hash(std::string_view config, std::string_view hash);

} // namespace gpuhost::kmod
