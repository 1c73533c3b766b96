// SPDX-License-Identifier: Apache-2.0
// What a kernel was built with, as /boot/config-RELEASE says.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::kmod {

/// Empty where a distribution leaves none.
[[nodiscard]] std::string kernel_config(const base::Root& root, const std::string& release);

/// Can a kernel with this configuration check module signatures over `hash` ("sha512")? Where the configuration is silent
/// it is not known, which counts as yes.
[[nodiscard]] bool takes_hash(std::string_view config, std::string_view hash);

} // namespace gpuhost::kmod
