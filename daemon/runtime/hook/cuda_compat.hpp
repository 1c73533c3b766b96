// SPDX-License-Identifier: Apache-2.0
// enable-cuda-compat: a CUDA image may carry the user-space driver of a newer branch, which works with the host's older
// kernel driver where that is one of those that it names.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

#include <cstdint>
#include <optional>

namespace gpuhost::runtime {

/// With /usr/local/cuda/compat before everything else where its libcuda is newer than the host's and made for it;
/// without it otherwise, also where an earlier start of the same container had it. update-ldcache has to follow.
[[nodiscard]] base::Result<void> enable_cuda_compat(const ContainerRoot& root,
                                                    const std::string& host_version);

/// Returns the driver branches (550, 535, …) in a library's ELF note `.note.cuda.fwd_compatibility`: an empty list where the
/// note names none, nothing where there is no such note. `fd` is a file of the image.
[[nodiscard]] std::optional<std::vector<std::int64_t>> compat_branches(int fd);

/// Is the compat library of `version` to be used with the host's driver? Without branches the major versions decide.
[[nodiscard]] bool prefers_compat(std::string_view version, std::string_view host_version,
                                  const std::optional<std::vector<std::int64_t>>& branches);

} // namespace gpuhost::runtime
