// SPDX-License-Identifier: Apache-2.0
// Defines what a worker may do, for each core::Sandbox, as properties of its transient unit.
// systemd/SANDBOXING.md gives the reasons.
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
    bool allow; ///< true: only `names` are allowed; false: `names` are refused
    Words names;
};
/// The types of D-Bus properties of systemd: bool b, uint64 t, int32 i, uint32 u, string s, Words as, Filter
/// (bas).
using PropertyValue =
    std::variant<bool, std::uint64_t, std::int32_t, std::uint32_t, std::string, Words, Filter>;

struct UnitProperty {
    std::string name;
    PropertyValue value;
};

inline constexpr std::string_view worker_user = "gpuhost-worker";
/// Not the same user as worker_user, because a compiler of foreign source must not reach the blobs.
inline constexpr std::string_view store_user = "gpuhost-store";

/// Returns the user that workers with this sandbox run as; empty for root.
[[nodiscard]] std::string_view user_of(core::Sandbox sandbox) noexcept;

/// Returns the sandbox with the widest access to the host, for steps whose preflights share a worker. The
/// list must not mix an unprivileged sandbox with others. Returns Store for an empty list.
[[nodiscard]] core::Sandbox widest(const std::vector<core::Sandbox>& sandboxes) noexcept;

/// Returns true if preflights in this sandbox do not share a worker with others: they read foreign input
/// without privileges, or ask the driver, which the sandbox Modules may not.
[[nodiscard]] bool has_own_preflights(core::Sandbox sandbox) noexcept;

/// Returns true if a worker with this sandbox may run several steps: the sandbox does not depend on the files
/// of one step.
[[nodiscard]] bool serves_many(core::Sandbox sandbox) noexcept;

/// Returns the properties of a worker's unit. `writable` lists directories besides the sandbox's own; one
/// with a leading "-" may be absent.
[[nodiscard]] std::vector<UnitProperty> sandbox_properties(core::Sandbox sandbox, Words writable);

} // namespace gpuhost::host
