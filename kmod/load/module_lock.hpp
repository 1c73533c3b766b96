// SPDX-License-Identifier: Apache-2.0
// Lets one process at a time load or unload modules, even after the death of a worker. A child that is still
// in the kernel keeps the lock, so the next worker waits for it and does not race it.
#pragma once

#include "daemon/base/root.hpp"

#include <chrono>
#include <string_view>

namespace gpuhost::kmod {

class ModuleLock {
  public:
    /// Fails with RebootRequired if the owner is known to hang, or does not release the lock within
    /// `patience`.
    [[nodiscard]] static base::Result<ModuleLock> take(const base::Root& root,
                                                       std::chrono::milliseconds patience);

    /// Records in the lock file that its owner hangs in the kernel while it does `doing`.
    void leave_hung(std::string_view doing) const;

  private:
    explicit ModuleLock(base::UniqueFd fd) : fd_(std::move(fd)) {}
    base::UniqueFd fd_;
};

} // namespace gpuhost::kmod
