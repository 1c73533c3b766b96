// SPDX-License-Identifier: Apache-2.0
// The container state that an OCI runtime passes on a hook's stdin, from which the container's root is found.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

inline constexpr std::size_t max_state = 1U << 20;  ///< bytes on stdin
inline constexpr std::size_t max_config = 8U << 20; ///< bytes of a bundle's config.json

struct RootOfState {
    std::string path;       ///< absolute
    bool read_only = false; ///< the root is to be read-only; the runtime may already have mounted it so
};

/// Returns root.path and root.readonly of `<bundle>/config.json`. If the state itself has an absolute `root`,
/// as crun's does, that `root` is the path, and an unreadable config.json is ignored. All values are from the
/// runtime, and are trusted like the runtime itself.
[[nodiscard]] base::Result<RootOfState> container_root(std::string_view state);

} // namespace gpuhost::runtime
