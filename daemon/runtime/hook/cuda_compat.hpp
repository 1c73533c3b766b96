// SPDX-License-Identifier: Apache-2.0
// enable-cuda-compat: a CUDA image may contain the user-space driver of a newer branch ("compat library").
// The compat library works with the host's older kernel driver if it lists the branch of that driver.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

#include <cstdint>
#include <optional>

namespace gpuhost::runtime {

/// Puts /usr/local/cuda/compat first in the search path if its libcuda is newer than the host's and supports
/// the branch of the host's driver. Otherwise removes the entry that an earlier start of the same container
/// added. update-ldcache must run afterwards.
[[nodiscard]] base::Result<void> enable_cuda_compat(const ContainerRoot& root,
                                                    const std::string& host_version);

/// Returns the driver branches (550, 535, …) in a library's ELF note `.note.cuda.fwd_compatibility`. The list
/// is empty if the note names none. Returns nullopt without such a note. `fd` is a file of the image.
[[nodiscard]] std::optional<std::vector<std::int64_t>> compat_branches(int fd);

/// Returns true if the compat library of `version` is to be used with the host's driver. Without `branches`,
/// the major versions are compared.
[[nodiscard]] bool prefers_compat(std::string_view version, std::string_view host_version,
                                  const std::optional<std::vector<std::int64_t>>& branches);

} // namespace gpuhost::runtime
