// SPDX-License-Identifier: Apache-2.0
// Packs a source directory of NVIDIA's kernel modules: /usr/src/nvidia-550.163.01, or kernel-open/ of the
// open source. gpuhostd can't receive a directory, so it receives a tar archive, whose content does not
// depend on the user who packs it.
#pragma once

#include "daemon/client/client.hpp"

#include <string>

namespace gpuhost::ctl {

/// Returns true if the directory has dkms.conf, or Kbuild and nvidia/.
[[nodiscard]] bool is_source_directory(const std::string& directory);

/// Returns an unnamed tar archive with the files below usr/src/nvidia[-open]-VERSION/, sorted by path. The
/// version is in dkms.conf (PACKAGE_VERSION), version.mk (NVIDIA_VERSION) or Kbuild (NV_VERSION_STRING). The
/// modules are the open ones if they have MODULE_LICENSE("Dual MIT/GPL"). Fails with BadContent if the
/// directory contains build output, because build output of one kernel would be used for another.
[[nodiscard]] base::Result<client::InputFile> pack_source_directory(const std::string& directory);

} // namespace gpuhost::ctl
