// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace gpuhost::runtime {

/// Of the runtime itself, not of what bundles it. What a runtime can do depends on its first two numbers,
/// seldom on the third.
struct RuntimeVersion {
    unsigned major = 0;
    unsigned minor = 0;
    std::string text; ///< as the runtime says it: "1.7.24~ds1"
    unsigned patch = 0;

    [[nodiscard]] bool is_at_least(unsigned wanted_major, unsigned wanted_minor,
                                   unsigned wanted_patch = 0) const {
        return std::tie(major, minor, patch) >= std::tie(wanted_major, wanted_minor, wanted_patch);
    }
};

/// The first word of what "--version" printed that is one, with a v before it or a comma behind it.
[[nodiscard]] std::optional<RuntimeVersion> parse_version(std::string_view output);

/// Asks the executable, on the host itself and where nobody but root can have changed it or a directory above it. Else
/// nothing, as of a script.
[[nodiscard]] std::optional<RuntimeVersion> ask_version(const base::Root& root,
                                                        const std::string& executable);

} // namespace gpuhost::runtime
