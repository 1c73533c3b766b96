// SPDX-License-Identifier: Apache-2.0
// A lock file that lets one process at a time load or unload modules. The child processes that load or unload
// modules inherit the lock. If a worker dies while its child is still blocked in the kernel, the child keeps
// the lock. The next worker therefore waits for the lock.
#pragma once

#include "daemon/base/root.hpp"

#include <chrono>
#include <string_view>

namespace gpuhost::kmod {

class ModuleLock {
  public:
    /// Waits for the lock. Fails with RebootRequired if the owner has called leave_hung(), or does not
    /// release the lock within `patience`.
    [[nodiscard]] static base::Result<ModuleLock> take(const base::Root& root,
                                                       std::chrono::milliseconds patience);

    /// Records in the lock file that the owner hangs in the kernel. `doing` is the operation as text:
    /// "unloading nvidia_uvm". Later calls of take() then fail at once.
    void leave_hung(std::string_view doing) const;

  private:
    explicit ModuleLock(base::UniqueFd fd) : fd_(std::move(fd)) {}
    base::UniqueFd fd_;
};

} // namespace gpuhost::kmod
