// SPDX-License-Identifier: Apache-2.0
// The calls that mount by descriptor, so that no name in a container's root is looked up twice. As calls of the kernel:
// glibc 2.34 lacks some, and its header does not go with the kernel's.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::runtime {

/// The mount at `fd` alone, as one that nothing can see yet; read-only, and without programs, devices and set-user-ID.
[[nodiscard]] base::Result<base::UniqueFd> clone_sealed(int fd);
/// The mount at `fd` with all that is mounted below it, as a tree that nothing can see yet; `fd`'s own mount is writable
/// if its file system is. crun mounts a root that is to be read-only so before hooks run, runc after.
[[nodiscard]] base::Result<base::UniqueFd> clone_writable(int fd);
/// The same, and what is mounted below is sealed.
[[nodiscard]] base::Result<base::UniqueFd> clone_writable_with_sealed_mounts(int fd);
/// An empty tmpfs of that many bytes that nothing can see yet.
[[nodiscard]] base::Result<base::UniqueFd> make_tmpfs(std::size_t size);
/// Nothing is written through the mount from now on; refused while a file of it is open for that.
[[nodiscard]] base::Result<void> make_read_only(int mount);
/// Mounts it on what the descriptor `target` leads to.
[[nodiscard]] base::Result<void> attach(int mount, int target);

/// What this process mounts from now on is seen in no other namespace.
[[nodiscard]] base::Result<void> keep_mounts_private();
/// An attached mount becomes "/" and the working directory; of what was there before nothing is left.
[[nodiscard]] base::Result<void> pivot_into(int mount);
/// Whatever is mounted at `path`, which is no link; nothing is fine.
void detach(const char* path);
/// The mount whose root this is.
[[nodiscard]] base::Result<void> detach(int mount);

} // namespace gpuhost::runtime
