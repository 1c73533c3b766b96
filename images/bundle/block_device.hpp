// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpuhost::images {

/// Is this open file on a disk that turns, by its queue/rotational (sysfs-block)? Several readers at once are slow there.
/// Virtio's say that they do whatever they are, and are taken for ones that don't; so is what nothing is known of.
[[nodiscard]] bool seeks_slowly(int fd);

} // namespace gpuhost::images
