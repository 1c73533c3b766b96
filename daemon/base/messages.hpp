// SPDX-License-Identifier: Apache-2.0
// MESSAGE_IDs of the journal. Each has an entry in systemd/gpuhost.catalog; a test compares the two sets.
#pragma once

#include <string_view>

namespace gpuhost::base::message {

inline constexpr std::string_view operation_started = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a01";
inline constexpr std::string_view operation_committed = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a02";
inline constexpr std::string_view operation_refused = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a03";
inline constexpr std::string_view operation_rolled_back = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a04";
inline constexpr std::string_view operation_failed = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a05";
inline constexpr std::string_view operation_resumed = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a06";
inline constexpr std::string_view reboot_required = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a07";
inline constexpr std::string_view config_problem = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a08";
inline constexpr std::string_view host_ready = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a09";
inline constexpr std::string_view worker_died = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a0a";
inline constexpr std::string_view operation_checked = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a0b";
inline constexpr std::string_view access_refused = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a0c";
inline constexpr std::string_view device_unhealthy = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a0d";
inline constexpr std::string_view device_noted = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a0e";
inline constexpr std::string_view device_healthy = "4cf5a1ae6e6f4c0d8f6b7a1f0e7c3a0f";

} // namespace gpuhost::base::message
