// SPDX-License-Identifier: Apache-2.0
// The offer is a file that says which devices gpuhost-devices offers to the kubelet. gpuhostd's workers
// replace it atomically. Without it nothing is offered. The answer is a file in which gpuhost-devices says
// what it serves.
//
//   offer   {"version": 1, "id": "…", "resource": "nvidia.com/gpu", "mig_strategy": "none",
//            "withdrawn": "…", "gpus": to_json(gpus), "health": to_json(rules), "host": to_json(HostFacts),
//            "labels": "node", "taint_unhealthy": false, "sharing": to_json(Sharing),
//            "device_list_strategy": ["cdi-cri"]}
//   answer  {"id": "…", "resources": [{"name": "nvidia.com/gpu", "devices": 2, "connected": true,
//            "error": ""}], "health": to_json(health), "blind": "…"}
#pragma once

#include "daemon/devices/device_health.hpp"
#include "daemon/devices/health_rules.hpp"
#include "daemon/devices/inventory.hpp"
#include "daemon/devices/list_strategy.hpp"
#include "daemon/devices/sharing.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

inline constexpr std::string_view offer_directory = "/run/gpuhost/devices";
inline constexpr std::string_view offer_path = "/run/gpuhost/devices/offer.json";
inline constexpr std::string_view answer_path = "/run/gpuhost-devices/answer.json";
inline constexpr std::size_t largest_offer = 1U << 20; ///< bytes

/// How MIG instances are offered, with the meanings of NVIDIA's device plugin.
enum class MigStrategy {
    none,   ///< not at all; GPUs that are split are left out
    single, ///< as the resource of whole GPUs; all GPUs must be split into instances of one profile
    mixed,  ///< as a resource for each profile: nvidia.com/mig-1g.10gb
};
[[nodiscard]] std::string_view name_of(MigStrategy strategy);
[[nodiscard]] std::optional<MigStrategy> mig_strategy(std::string_view name);

/// The writer of labels that describe the GPUs on the Node.
enum class LabelMode {
    no,
    node, ///< gpuhost-cluster
    nfd,  ///< Node Feature Discovery, from a file
};
[[nodiscard]] std::string_view name_of(LabelMode mode);
[[nodiscard]] std::optional<LabelMode> label_mode(std::string_view name);

struct Offer {
    std::string id;       ///< differs in each offer; the answer repeats it
    std::string resource; ///< of whole GPUs: "nvidia.com/gpu"
    MigStrategy mig = MigStrategy::none;
    std::string withdrawn; ///< why no device may be allocated now; empty: they may be
    std::vector<Gpu> gpus;
    HealthRules health = {};
    HostFacts host{};
    LabelMode labels = LabelMode::no;
    bool taint_unhealthy = false; ///< gpuhost-cluster taints the Node while a device is unhealthy
    Sharing sharing{};
    ListStrategies strategies{ListStrategy::cdi_cri};
    IdStrategy ids = IdStrategy::uuid;
    /// The nodes that each container gets beside those of its devices, without CDI. nullopt: the kubelet
    /// gives it no nodes.
    std::optional<std::vector<std::string>> nodes{};
    friend bool operator==(const Offer&, const Offer&) = default;
};

[[nodiscard]] std::string to_text(const Offer& offer);
/// Fails with BadContent if the text is not an offer, and with Unsupported for another version.
[[nodiscard]] base::Result<Offer> parse_offer(std::string_view text);

/// A resource that gpuhost-devices serves.
struct Served {
    std::string name; ///< "nvidia.com/gpu"
    std::size_t devices = 0;
    bool connected = false; ///< a kubelet watches the devices
    std::string error;      ///< why the kubelet did not take the plugin; empty: none
    friend bool operator==(const Served&, const Served&) = default;
};

struct Answer {
    std::string id; ///< of the offer that all connected kubelets have received
    std::vector<Served> resources;
    std::vector<DeviceHealth> health; ///< of the devices that are noted or unhealthy
    /// Why errors of the driver are not detected, or why earlier ones may be missing, as a phrase. Empty:
    /// devices without an entry are healthy.
    std::string blind{};
    friend bool operator==(const Answer&, const Answer&) = default;
};

[[nodiscard]] std::string to_text(const Answer& answer);
/// Fails with BadContent if the text is not an answer.
[[nodiscard]] base::Result<Answer> parse_answer(std::string_view text);

} // namespace gpuhost::devices
