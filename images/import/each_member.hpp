// SPDX-License-Identifier: Apache-2.0
// All of a bundle's members, large ones by some threads at once.
#pragma once

#include "images/bundle/reader.hpp"
#include "images/import/tasks.hpp"

#include <functional>

namespace gpuhost::images {

/// Of one member: reads what it wants of `body`, and ends soon once `tasks` has failed. Called by any thread.
using MemberWork =
    std::function<base::Result<void>(BundleInput& body, const Member& member, const Tasks& tasks)>;

/// Goes through the bundle to its end, where nothing may follow. `readers` is BundleInput::readers() or less. `skips` says,
/// on this thread, which members have no work. The first error.
[[nodiscard]] base::Result<void> each_member(BundleReader& bundle, unsigned readers,
                                             const std::function<bool(const Member&)>& skips,
                                             const MemberWork& work);

} // namespace gpuhost::images
