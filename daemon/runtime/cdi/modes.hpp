// SPDX-License-Identifier: Apache-2.0
// The table of all specifications that gpuhost generates.
#pragma once

#include "daemon/runtime/cdi/facts.hpp"

#include <span>
#include <string_view>

namespace gpuhost::runtime {

struct CdiMode {
    std::string_view name; ///< as in "gpuhostctl cdi generate --mode" and NVIDIA's tool
    std::string_view file; ///< file name in the directory of specifications
    bool optional;         ///< true: make() may fail with NotFound, because few hosts have such a device
    base::Result<MadeSpec> (*make)(const base::Root&, const CdiSources&);
};

/// Returns the modes. Their file names equal those of NVIDIA's own tools.
[[nodiscard]] std::span<const CdiMode> cdi_modes();

} // namespace gpuhost::runtime
