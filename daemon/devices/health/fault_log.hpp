// SPDX-License-Identifier: Apache-2.0
// The errors of GPUs since the host was started, as events of the kernel's log add and end them. A value,
// which gpuhost-devices saves in a file: the kernel's log overwrites old messages.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"
#include "daemon/devices/health/kernel_line.hpp"
#include "daemon/devices/health_rules.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// An error with one number, at one GPU or GPU instance. Repeated ones are counted.
struct Fault {
    std::string address; ///< PCI, without the function
    std::optional<unsigned> gpu_instance;
    unsigned xid = 0;
    bool fatal = false; ///< see KernelEvent
    /// The driver was loaded again, or has reported that no action is needed. Only FatalXids= counts it.
    bool ended = false;
    std::string text;
    std::int64_t first_us = 0; ///< CLOCK_REALTIME
    std::int64_t last_us = 0;
    std::uint64_t count = 0;
    std::vector<std::string> cleared_for; ///< MIG devices that were cleared after the last one
    friend bool operator==(const Fault&, const Fault&) = default;
};

/// The action that the driver demands for a GPU.
struct RequiredAction {
    std::string address;
    unsigned action = 0; ///< see KernelEvent; never 0
    std::string text;
    std::int64_t since_us = 0;
    std::vector<std::string> cleared_for; ///< see Fault
    friend bool operator==(const RequiredAction&, const RequiredAction&) = default;
};

struct FaultLog {
    std::uint64_t next_sequence = 0; ///< records before this one are in the log already
    std::vector<Fault> faults;
    std::vector<RequiredAction> actions;
    std::vector<Clear> applied; ///< clears that apply_clears() has seen
    std::string missing{};      ///< why errors since the driver was loaded may be missing; empty: none is
    std::vector<std::string> checked{}; ///< UUIDs of GPUs that were cleared since errors may be missing
    friend bool operator==(const FaultLog&, const FaultLog&) = default;
};

inline constexpr std::size_t most_faults = 1024;
inline constexpr std::size_t most_actions = 256; ///< GPUs with a required action
inline constexpr std::size_t most_cleared = 8;   ///< MIG devices of a GPU
inline constexpr std::size_t most_checked = 256; ///< GPUs

/// Adds an event that occurred at `time_us`. The log stays within its limits: the oldest fault makes room.
/// Returns false if the event only repeats a known fault.
bool add_event(FaultLog& log, const KernelEvent& event, std::int64_t time_us);

/// Says why errors may be missing. A load of the driver ends this, or a clear of each GPU from now on.
/// Returns false if the log says so already.
bool lose_errors(FaultLog& log, std::string_view why);

[[nodiscard]] std::string to_text(const FaultLog& log);
/// Fails with BadContent if the text is not a log.
[[nodiscard]] base::Result<FaultLog> parse_fault_log(std::string_view text);

} // namespace gpuhost::devices
