// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpuhost::images {

/// Reports whether an open file is on a rotating disk, by queue/rotational in sysfs. Callers then read with
/// one thread, because concurrent readers make such a disk slow. Returns false if sysfs does not describe the
/// disk, and for virtio disks, which always report rotational.
[[nodiscard]] bool seeks_slowly(int fd);

} // namespace gpuhost::images
