// SPDX-License-Identifier: Apache-2.0
// Follows the faults of GPUs in the kernel's messages. Wakes only for a message.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/devices/health/fault_log.hpp"
#include "daemon/devices/inventory.hpp"
#include "daemon/host/event.hpp"

#include <functional>
#include <string>

namespace gpuhost::devices {

/// The faults so far, so that a new process has those whose messages the kernel has overwritten. In /run: a
/// restart of the host begins without faults. systemd makes the directory at boot.
inline constexpr std::string_view faults_path = "/run/gpuhost/gpu-faults/faults.json";
/// The last file of faults that could not be read. Alone, it says that the faults were not saved since.
inline constexpr std::string_view damaged_faults_path = "/run/gpuhost/gpu-faults/faults.damaged.json";

class FaultMonitor {
  public:
    /// `root` and `event` must outlive the monitor. `on_change` is called after log() or blind() has changed.
    FaultMonitor(const base::Root& root, host::Event& event, std::function<void()> on_change);

    /// Restores the saved faults, reads the messages that are there, and watches for more. A damaged file is
    /// kept under another name: the faults are then those of all messages that the kernel still has.
    /// `descriptor` is /dev/kmsg, or in tests a socket with a record in each datagram; it must stay open.
    /// Without one of them, and after an error, blind() says why no faults are detected.
    [[nodiscard]] base::Result<void> start(int descriptor);
    /// Applies new clears to the messages so far.
    void apply(const std::vector<Gpu>& gpus, const HealthRules& rules);
    [[nodiscard]] const FaultLog& log() const { return log_; }
    /// Returns why errors are not detected, or why earlier ones may be missing. Empty: all are known.
    [[nodiscard]] const std::string& blind() const { return blind_.empty() ? log_.missing : blind_; }

  private:
    enum class Phase { Backlog, Live };
    void restore();
    void rebuild(const base::Error& error);
    bool read_batch(Phase phase);
    bool take(std::string_view record, Phase phase);
    void go_blind(std::string why);
    bool lose_messages();
    void save();

    const base::Root& root_;
    host::Event& event_;
    std::function<void()> on_change_;
    int descriptor_ = -1;
    bool rebuilt_ = false; ///< log_ is made of the kernel's messages only, until apply()
    bool unsaved_ = false; ///< log_ has more than the file, apart from repeated errors
    FaultLog log_;
    std::string blind_;
    std::string buffer_;
    host::Source source_;
};

} // namespace gpuhost::devices
