// SPDX-License-Identifier: Apache-2.0
// Reads all members of a bundle in order, and processes large ones in several threads.
#pragma once

#include "images/bundle/reader.hpp"
#include "images/import/tasks.hpp"

#include <functional>

namespace gpuhost::images {

/// Processes one member, whose content it reads from `body`. Called on any thread. It should return soon
/// after tasks.failed() becomes true.
using MemberWork =
    std::function<base::Result<void>(BundleInput& body, const Member& member, const Tasks& tasks)>;

/// Calls `work` for each member of the bundle for which `skips` returns false. Uses at most `readers`
/// threads, which must be at most BundleInput::readers(). Calls `skips` on the calling thread. Fails with the
/// first error of `work` or of the reader, also for data after the bundle's end.
[[nodiscard]] base::Result<void> each_member(BundleReader& bundle, unsigned readers,
                                             const std::function<bool(const Member&)>& skips,
                                             const MemberWork& work);

} // namespace gpuhost::images
