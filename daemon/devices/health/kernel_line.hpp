// SPDX-License-Identifier: Apache-2.0
// Recognizes the messages of NVIDIA's driver in the kernel's log that concern the health of a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::devices {

enum class KernelEventKind {
    error,    ///< an Xid, or "has fallen off the bus", which counts as Xid 79
    recovery, ///< Xid 154: the driver names the action that ends its errors
    load,     ///< the driver's module was loaded, and found its GPUs
};

struct KernelEvent {
    KernelEventKind kind = KernelEventKind::error;
    std::string address;                  ///< PCI, without the function: "0000:cb:00"; empty: load
    unsigned xid = 0;                     ///< 0: load
    std::optional<unsigned> gpu_instance; ///< of MIG; nullopt: the whole GPU
    std::optional<unsigned> compute_instance;
    bool fatal = false;  ///< the message of an NVLink error says that it is fatal
    unsigned action = 0; ///< recovery: NVML's number of the action; 0: none
    std::string text;    ///< the driver's words, at most longest_reason bytes of printable ASCII
    friend bool operator==(const KernelEvent&, const KernelEvent&) = default;
};

inline constexpr std::size_t longest_reason = 200;
inline constexpr unsigned xid_memory_pending = 63; ///< a page is retired or a row remapped, after a reset
inline constexpr unsigned xid_memory_failed = 64;
inline constexpr unsigned xid_fallen_off_the_bus = 79;
inline constexpr unsigned xid_recovery_action = 154;

/// Returns nullopt for other messages. Takes the text of a KmsgRecord, or any bytes.
[[nodiscard]] std::optional<KernelEvent> parse_kernel_line(std::string_view line);

} // namespace gpuhost::devices
