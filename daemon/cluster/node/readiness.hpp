// SPDX-License-Identifier: Apache-2.0
// Determines from gpuhostd's report whether this host is ready to run pods with GPUs, and if not, why. The
// results are conditions of the host's Node.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

inline constexpr std::string_view driver_ready = "gpuhost.io/DriverReady";
inline constexpr std::string_view runtime_ready = "gpuhost.io/RuntimeReady";
inline constexpr std::string_view gpus_healthy = "gpuhost.io/GPUsHealthy";
inline constexpr std::string_view no_gpu_reason = "NoGpu"; ///< of driver_ready, on a host without a GPU
inline constexpr std::string_view images_ready = "gpuhost.io/ImagesReady";

/// https://kubernetes.io/docs/reference/node/node-status/#condition
struct Condition {
    std::string type;
    std::string status; ///< "True", "False", "Unknown"
    std::string reason; ///< one word in CamelCase
    std::string message;

    [[nodiscard]] bool operator==(const Condition&) const = default;
};

/// The GPUs that the host offers to the kubelet, as the Node shows them.
struct NodeDevices {
    /// Labels that describe the GPUs: name → value. None: the labels on the Node stay.
    std::optional<std::map<std::string, std::string>> labels;
    /// The condition GPUsHealthy. None: the Node must not have it.
    std::optional<Condition> health;
    /// Whether the Node needs the taint of an unhealthy GPU. None: not known, so a taint stays.
    std::optional<bool> tainted;
};

struct Readiness {
    /// The conditions that are known now. During an operation of gpuhostd some are not known.
    std::vector<Condition> conditions;
    std::optional<std::size_t> gpus; ///< number of GPUs; none: not known
    /// An absent offer to the kubelet is final: gpuhostd has none to make, and either Serve=off or a driver
    /// is loaded. Without a driver one may be loaded later, as after a restart of the host.
    bool settled = false;
    std::optional<NodeDevices> devices; ///< none: not known, so the Node stays as it is

    [[nodiscard]] const Condition* find(std::string_view type) const;
};

/// Returns a condition with a message of a length that Nodes may have.
[[nodiscard]] Condition make_condition(std::string_view type, std::string_view status, std::string reason,
                                       std::string message);
/// Returns the conditions for `host`, the document of org.gpuhost1.Manager.Describe.
[[nodiscard]] Readiness readiness_of(const base::Json& host);
/// Returns only the driver's condition, even during an operation. gpuhostd must have finished its start.
[[nodiscard]] Condition driver_condition_of(const base::Json& host);
/// Returns the conditions for a gpuhostd that does not answer.
[[nodiscard]] Readiness readiness_without_daemon(const base::Error& why);

} // namespace gpuhost::cluster
