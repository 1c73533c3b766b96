// SPDX-License-Identifier: Apache-2.0
// What an OCI runtime says on a hook's stdin: the state of a container, and so where its root is.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

inline constexpr std::size_t max_state = 1U << 20;  ///< bytes on stdin
inline constexpr std::size_t max_config = 8U << 20; ///< bytes of a bundle's config.json

/// The root as an absolute path: `root` of the state, which crun writes, or root.path of `<bundle>/config.json`. Both
/// are the runtime's own words, and are trusted as far as the runtime is.
[[nodiscard]] base::Result<std::string> container_root_path(std::string_view state);

} // namespace gpuhost::runtime
