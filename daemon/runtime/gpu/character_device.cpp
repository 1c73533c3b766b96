// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/gpu/character_device.hpp"

namespace gpuhost::runtime {

std::optional<struct stat> stat_character_device(const base::Root& root, const std::string& path) {
    const auto st = root.lstat(path);
    return st && S_ISCHR(st->st_mode) ? std::optional(*st) : std::nullopt;
}

} // namespace gpuhost::runtime
