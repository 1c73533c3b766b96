// SPDX-License-Identifier: Apache-2.0
// The host's ldconfig, run on a container's root without a program of the container having a say.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// Makes the root's /etc/ld.so.cache (Refused where that is mounted), and the links that ldconfig makes beside libraries. `program` is a path of the
/// host. It runs from a read-only copy in memory, in namespaces of its own where the container's root is "/", what is mounted in
/// that cannot be written, /proc, /sys and /dev are not there, it has no capability but to write files, and makes no socket.
[[nodiscard]] base::Result<void> run_ldconfig(const ContainerRoot& root, const std::string& program);

/// Runs without another program or library: what ldconfig is with glibc. `elf` is the beginning of the file.
[[nodiscard]] bool is_static_program(std::string_view elf);

} // namespace gpuhost::runtime
