// SPDX-License-Identifier: Apache-2.0
// What an OCI runtime says on a hook's stdin: the state of a container, and so where its root is.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

inline constexpr std::size_t max_state = 1U << 20;  ///< bytes on stdin
inline constexpr std::size_t max_config = 8U << 20; ///< bytes of a bundle's config.json

struct RootOfState {
    std::string path;       ///< absolute
    bool read_only = false; ///< for the container: its runtime may have mounted it so already
};

/// root.path and root.readonly of `<bundle>/config.json`. Where the state has an absolute `root`, as crun's, that is the
/// path, and a config.json that cannot be read says nothing. All are the runtime's own words, and are trusted as far as
/// the runtime is.
[[nodiscard]] base::Result<RootOfState> container_root(std::string_view state);

} // namespace gpuhost::runtime
