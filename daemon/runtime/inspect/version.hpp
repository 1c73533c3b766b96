// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace gpuhost::runtime {

/// Version of the runtime itself, even if a distribution bundles it. Features depend on the first two
/// numbers, rarely on the third.
struct RuntimeVersion {
    unsigned major = 0;
    unsigned minor = 0;
    std::string text; ///< as printed by the runtime: "1.7.24~ds1"
    unsigned patch = 0;

    [[nodiscard]] bool is_at_least(unsigned wanted_major, unsigned wanted_minor,
                                   unsigned wanted_patch = 0) const {
        return std::tie(major, minor, patch) >= std::tie(wanted_major, wanted_minor, wanted_patch);
    }
};

/// Returns the first word in the output of "--version" that is a version. Ignores a leading v and a
/// trailing comma.
[[nodiscard]] std::optional<RuntimeVersion> parse_version(std::string_view output);

/// Queries the program's version. Returns nothing below another root, for a script, or if anybody but root
/// can change the program or a directory above it.
[[nodiscard]] std::optional<RuntimeVersion> ask_version(const base::Root& root,
                                                        const std::string& executable);

} // namespace gpuhost::runtime
