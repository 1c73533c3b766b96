// SPDX-License-Identifier: Apache-2.0
// Builds the smallest ELF files that are accepted as a kernel module and as a shared library.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gpuhost::tests {

/// `modinfo`: {{"name", "nvidia"}, {"vermagic", "6.1.0-50-amd64 SMP"}, …}; `versions`: symbols with their
/// CRC.
[[nodiscard]] std::string module_image(const std::vector<std::pair<std::string, std::string>>& modinfo,
                                       const std::vector<std::pair<std::string, unsigned>>& versions = {});

/// Returns a module of NVIDIA's open driver.
[[nodiscard]] std::string nvidia_module(const std::string& name, const std::string& version,
                                        const std::string& kernel, const std::string& depends = {});

[[nodiscard]] std::string library_image(const std::string& soname);

/// Appends a signature as scripts/sign-file does; `der` is the signature itself.
[[nodiscard]] std::string with_signature(std::string image, const std::string& der);

} // namespace gpuhost::tests
