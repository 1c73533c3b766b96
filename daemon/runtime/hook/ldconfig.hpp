// SPDX-License-Identifier: Apache-2.0
// Runs the host's ldconfig on a container's root. No program of the container is executed.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// Creates the root's /etc/ld.so.cache and the links that ldconfig makes beside libraries. Fails with Refused
/// if the cache is in a mount. `program` is a path of the host.
///
/// The program runs from a read-only copy in memory, in its own namespaces, with the container's root as "/".
/// Mounts in the root are read-only, and /proc, /sys and /dev are detached. It cannot open sockets, and its
/// only capability is to bypass permissions on files.
[[nodiscard]] base::Result<void> run_ldconfig(const ContainerRoot& root, const std::string& program);

/// Returns true if the program needs no interpreter and no libraries, like glibc's ldconfig. `elf` is the
/// beginning of the file.
[[nodiscard]] bool is_static_program(std::string_view elf);

} // namespace gpuhost::runtime
