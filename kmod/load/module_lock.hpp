// SPDX-License-Identifier: Apache-2.0
// One mover of modules at a time, over the death of workers: a child that is still in the kernel keeps the
// lock, so that the next worker waits for it instead of racing it.
#pragma once

#include "daemon/base/root.hpp"

#include <chrono>
#include <string_view>

namespace gpuhost::kmod {

class ModuleLock {
  public:
    /// RebootRequired if its owner is known to hang, or does not end within `patience`.
    [[nodiscard]] static base::Result<ModuleLock> take(const base::Root& root,
                                                       std::chrono::milliseconds patience);

    /// Says, for those who find the lock taken, that its owner hangs in the kernel in this.
    void leave_hung(std::string_view doing) const;

  private:
    explicit ModuleLock(base::UniqueFd fd) : fd_(std::move(fd)) {}
    base::UniqueFd fd_;
};

} // namespace gpuhost::kmod
