// SPDX-License-Identifier: Apache-2.0
// Processes all members of a bundle, large ones in several threads.
#pragma once

#include "images/bundle/reader.hpp"
#include "images/import/tasks.hpp"

#include <functional>

namespace gpuhost::images {

/// Processes one member: reads from `body`, and returns soon after `tasks` has failed. Called on any thread.
using MemberWork =
    std::function<base::Result<void>(BundleInput& body, const Member& member, const Tasks& tasks)>;

/// Processes the bundle to its end, where nothing may follow. `readers` is at most BundleInput::readers().
/// Calls `skips` on this thread to find members without work. Returns the first error.
[[nodiscard]] base::Result<void> each_member(BundleReader& bundle, unsigned readers,
                                             const std::function<bool(const Member&)>& skips,
                                             const MemberWork& work);

} // namespace gpuhost::images
