// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::ctl {

/// The facts that decide to which driver version 'upgrade' goes.
struct ChoiceFacts {
    std::string named;      ///< on the command line; empty: none
    bool has_input = false; ///< the command line names something to import
    /// The driver versions that the input brings for this host; nullopt: not known before the import.
    std::optional<std::vector<std::string>> brought = {};
    std::string configured = {};         ///< Version= of [Driver]
    std::vector<std::string> store = {}; ///< versions, newest first
    std::string offered = {};            ///< the driver of the cluster's policy; empty: none
    std::string arguments = {};          ///< the command line after the version, for hints
};

/// Returns the version that a hint names if the input brings several: that of the cluster's policy, else the
/// configured one, if it is among them, else the first.
[[nodiscard]] std::string suggested_version(const std::vector<std::string>& brought,
                                            const ChoiceFacts& facts);

/// Returns the version: the named one, else the only one that the input brings. Without input: the one of the
/// cluster's policy, else the configured one, else the newest in the store. The result is empty for input
/// without a driver: only the rest of the configuration is applied then.
///
/// Fails with InvalidArgument if the input brings several versions and none is named. Fails with NotFound if
/// there is no input and the version is not in the store. Fails with Refused if the input does not have the
/// named version. Also fails with Refused if the configuration or the policy names another version, because
/// the next apply would return to that.
[[nodiscard]] base::Result<std::string> choose_version(const ChoiceFacts& facts);

} // namespace gpuhost::ctl
