// SPDX-License-Identifier: Apache-2.0
// What each kind of worker may do, as properties of its transient unit. systemd/SANDBOXING.md says why.
#pragma once

#include "daemon/core/step.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuhost::host {

using Words = std::vector<std::string>;
struct Filter {
    bool allow; ///< true: everything else is refused; false: these are
    Words names;
};
/// bool b, uint64 t, int32 i, uint32 u, string s, Words as, Filter (bas): systemd's own types on the bus.
using PropertyValue =
    std::variant<bool, std::uint64_t, std::int32_t, std::uint32_t, std::string, Words, Filter>;

struct UnitProperty {
    std::string name;
    PropertyValue value;
};

inline constexpr std::string_view worker_user = "gpuhost-worker";
/// Not the one above: what compiles foreign source must not reach the blobs.
inline constexpr std::string_view store_user = "gpuhost-store";

/// The user that it runs as; empty for root.
[[nodiscard]] std::string_view user_of(core::Sandbox sandbox) noexcept;

/// Of steps whose preflights share a worker: the one that sees the most of the host. None of them a foreign
/// input's. Store without any.
[[nodiscard]] core::Sandbox widest(const std::vector<core::Sandbox>& sandboxes) noexcept;

/// Whether a worker with it may do one job after the other: it is not made for the files of one.
[[nodiscard]] bool serves_many(core::Sandbox sandbox) noexcept;

/// `writable`: directories besides what the sandbox itself opens; with a "-" in front it may be absent.
[[nodiscard]] std::vector<UnitProperty> sandbox_properties(core::Sandbox sandbox, Words writable);

} // namespace gpuhost::host
