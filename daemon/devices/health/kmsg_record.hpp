// SPDX-License-Identifier: Apache-2.0
// Records of /dev/kmsg (the kernel's Documentation/ABI/testing/dev-kmsg).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::devices {

/// The size of a buffer for one record, in bytes. The kernel makes shorter ones, and gives no part of one.
inline constexpr std::size_t largest_record = 16384;

struct KmsgRecord {
    std::uint64_t sequence = 0;
    std::int64_t since_boot_us = 0;
    std::string text; ///< printable ASCII; each other byte, and a line break in the message, is a blank
    friend bool operator==(const KmsgRecord&, const KmsgRecord&) = default;
};

/// Parses "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,…];TEXT\n KEY=VALUE\n…". Returns nullopt for other bytes,
/// and for a message that a program has written.
[[nodiscard]] std::optional<KmsgRecord> parse_kmsg_record(std::string_view record);

} // namespace gpuhost::devices
