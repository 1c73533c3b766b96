// SPDX-License-Identifier: Apache-2.0
// The source of NVIDIA's kernel modules as a directory (/usr/src/nvidia-550.163.01, kernel-open/ of the open source), which the
// daemon can't be passed: it goes as a tar, of which it makes the same set whoever packs it.
#pragma once

#include "daemon/client/client.hpp"

#include <string>

namespace gpuhost::ctl {

/// Has dkms.conf, or Kbuild and nvidia/.
[[nodiscard]] bool is_source_directory(const std::string& directory);

/// Its files below usr/src/nvidia[-open]-VERSION/, in order of path, in a file without a name. The version is that of dkms.conf
/// (PACKAGE_VERSION), version.mk (NVIDIA_VERSION) or Kbuild (NV_VERSION_STRING); open is what says MODULE_LICENSE("Dual MIT/GPL").
/// One that was built in is BadContent: what was found out for one kernel would be taken for another's.
[[nodiscard]] base::Result<InputFile> pack_source_directory(const std::string& directory);

} // namespace gpuhost::ctl
