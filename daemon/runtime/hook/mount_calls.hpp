// SPDX-License-Identifier: Apache-2.0
// System calls that mount by descriptor, so that no name in a container's root is looked up twice. They are
// called by number: glibc 2.34 lacks some of them, and its header conflicts with the kernel's.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::runtime {

/// Returns a detached clone of the mount at `fd` alone. It is read-only, noexec, nodev and nosuid.
[[nodiscard]] base::Result<base::UniqueFd> clone_sealed(int fd);
/// Returns a detached clone of the mount at `fd` and all mounts below it. `fd`'s own mount becomes writable
/// if its file system is writable. crun mounts a read-only root before hooks run, runc afterwards.
[[nodiscard]] base::Result<base::UniqueFd> clone_writable(int fd);
/// Like clone_writable(), but makes all mounts below read-only, noexec, nodev and nosuid.
[[nodiscard]] base::Result<base::UniqueFd> clone_writable_with_sealed_mounts(int fd);
/// Returns a detached empty tmpfs of `size` bytes.
[[nodiscard]] base::Result<base::UniqueFd> make_tmpfs(std::size_t size);
/// Makes the mount read-only. Fails while one of its files is open for writing.
[[nodiscard]] base::Result<void> make_read_only(int mount);
/// Attaches the mount at the file or directory to which the descriptor `target` refers.
[[nodiscard]] base::Result<void> attach(int mount, int target);

/// Makes later mounts of this process invisible in other mount namespaces.
[[nodiscard]] base::Result<void> keep_mounts_private();
/// Makes an attached mount "/" and the working directory. Detaches all of the old root.
[[nodiscard]] base::Result<void> pivot_into(int mount);
/// Detaches what is mounted at `path`, which must not be a link. Succeeds if nothing is mounted.
void detach(const char* path);
/// Detaches the mount whose root `mount` refers to.
[[nodiscard]] base::Result<void> detach(int mount);

} // namespace gpuhost::runtime
