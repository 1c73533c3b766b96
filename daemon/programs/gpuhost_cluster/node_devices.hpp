// SPDX-License-Identifier: Apache-2.0
// Derives what a Node shows of the GPUs that are offered to the kubelet. A pure function.
#pragma once

#include "daemon/cluster/node/readiness.hpp"
#include "daemon/devices/offer.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gpuhost {

/// The files of gpuhostd and of gpuhost-devices.
struct DeviceFacts {
    std::optional<devices::Offer> offer;
    std::optional<devices::Answer> answer;
    /// Why the answer can't be used. Empty: it can, or gpuhost-devices does not run.
    std::string answer_error;
    bool unreadable = false; ///< the offer exists, but can't be used
};

/// Returns nullopt if it is not known whether GPUs are offered, so that all stays. `settled`: an absent offer
/// is final, as Readiness has it.
[[nodiscard]] std::optional<cluster::NodeDevices> node_devices(const DeviceFacts& facts, bool settled);

/// Decides whether an observation of gpuhostd is about the present offer, or its absence. An observation that
/// began before gpuhostd removed the offer says nothing of what is to be made.
class OfferGeneration {
  public:
    /// Called after each reading of the files.
    void see(const DeviceFacts& facts);
    /// Called when an observation begins.
    void begin() { begun_ = present_; }
    /// Called when it has ended.
    void end() { observed_ = begun_; }
    [[nodiscard]] bool is_observed() const { return observed_ == present_; }

  private:
    std::string id_; ///< of the last offer that was seen; empty: none
    std::uint64_t present_ = 1;
    std::uint64_t begun_ = 0;
    std::uint64_t observed_ = 0;
};

/// Decides which values of the condition GPUsHealthy are worth an event.
class HealthNews {
  public:
    /// Returns true if GPUs became unhealthy or healthy, or others are unhealthy. A value that is Unknown, as
    /// during a restart, is skipped. `before`: the former value on the Node; null: none.
    [[nodiscard]] bool is_news(const cluster::Condition* before, const cluster::Condition& after);

  private:
    std::optional<cluster::Condition> last_; ///< the last value that was not Unknown
};

} // namespace gpuhost
