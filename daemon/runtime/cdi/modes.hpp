// SPDX-License-Identifier: Apache-2.0
// Every specification that we make.
#pragma once

#include "daemon/runtime/cdi/facts.hpp"

#include <span>
#include <string_view>

namespace gpuhost::runtime {

struct CdiMode {
    std::string_view name; ///< as "gpuhostctl cdi generate --mode" has it, and NVIDIA's tool
    std::string_view file; ///< among those of runtimes
    bool optional;         ///< NotFound is no problem
    base::Result<MadeSpec> (*make)(const base::Root&, const CdiSources&);
};

/// Files have the names under which NVIDIA's own tools write theirs.
[[nodiscard]] std::span<const CdiMode> cdi_modes();

} // namespace gpuhost::runtime
