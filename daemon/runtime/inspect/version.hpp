// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace gpuhost::runtime {

/// The version of a runtime itself, also if a distribution such as k3s bundles it. Features depend on the
/// first two numbers, rarely on the third.
struct RuntimeVersion {
    unsigned major = 0;
    unsigned minor = 0;
    std::string text; ///< as the runtime prints it: "1.7.24~ds1"
    unsigned patch = 0;

    [[nodiscard]] bool is_at_least(unsigned wanted_major, unsigned wanted_minor,
                                   unsigned wanted_patch = 0) const {
        return std::tie(major, minor, patch) >= std::tie(wanted_major, wanted_minor, wanted_patch);
    }
};

/// Returns the first word in the output of "--version" that is a version. Ignores a leading "v" and a
/// trailing comma. nullopt if no word is a version.
[[nodiscard]] std::optional<RuntimeVersion> parse_version(std::string_view output);

/// Runs the program with "--version". Returns nullopt below another root, for a script, and if a user other
/// than root can change the program or a directory above it.
[[nodiscard]] std::optional<RuntimeVersion> ask_version(const base::Root& root,
                                                        const std::string& executable);

} // namespace gpuhost::runtime
