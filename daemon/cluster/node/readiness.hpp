// SPDX-License-Identifier: Apache-2.0
// Is this host ready to run pods with GPUs, and if not, why: what the daemon says of it, as conditions of its Node.
#pragma once

#include "daemon/base/json.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

inline constexpr std::string_view driver_ready = "gpuhost.io/DriverReady";
inline constexpr std::string_view runtime_ready = "gpuhost.io/RuntimeReady";
inline constexpr std::string_view images_ready = "gpuhost.io/ImagesReady";

/// https://kubernetes.io/docs/reference/node/node-status/#condition
struct Condition {
    std::string type;
    std::string status; ///< "True", "False", "Unknown"
    std::string reason; ///< one word in CamelCase
    std::string message;

    [[nodiscard]] bool operator==(const Condition&) const = default;
};

struct Readiness {
    std::vector<Condition>
        conditions; ///< those that can be told now: half way through an operation nothing new can be
    std::optional<std::size_t> gpus; ///< how many; nothing while that is not known

    [[nodiscard]] const Condition* find(std::string_view type) const;
};

/// `host` is the document of org.gpuhost1.Manager.Describe.
[[nodiscard]] Readiness readiness_of(const base::Json& host);
/// The driver's condition by itself, also half way through an operation. `host` is of a daemon that has started.
[[nodiscard]] Condition driver_condition_of(const base::Json& host);
/// While the daemon is not there to be asked.
[[nodiscard]] Readiness readiness_without_daemon(const base::Error& why);

} // namespace gpuhost::cluster
