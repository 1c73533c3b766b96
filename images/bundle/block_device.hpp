// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpuhost::images {

/// Reports whether this open file is on a rotating disk, by queue/rotational (sysfs-block). Several
/// concurrent readers are slow on such a disk. Returns false for virtio disks, which always report
/// rotational, and if nothing is known.
[[nodiscard]] bool seeks_slowly(int fd);

} // namespace gpuhost::images
