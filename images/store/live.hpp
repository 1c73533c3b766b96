// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/clock.hpp"
#include "daemon/base/root.hpp"

#include <cstdint>
#include <memory>
#include <mutex>

namespace gpuhost::images {

/// When a load of the catalogue is as good as a new one. In microseconds, by the clock of files.
struct LoadTime {
    std::uint64_t stamp = 0; ///< when the catalogue had last changed before
    std::uint64_t began = 0;

    /// Of one that changed last at `now`, to whom asked at `asked`.
    [[nodiscard]] bool holds(std::uint64_t now, std::uint64_t asked) const;
};
/// 0 as long as nothing was ever imported.
[[nodiscard]] base::Result<std::uint64_t> catalogue_changed_us(const base::Root& root);

/// What T::load() makes of a catalogue that changes: made again when that has. For many threads.
template <class T>
class Live {
  public:
    /// `root` must outlive it.
    explicit Live(const base::Root& root) : root_(root) {}

    /// At least as new as the call. What cost a load is shared by all that waited for it.
    [[nodiscard]] base::Result<std::shared_ptr<const T>> current() {
        const std::uint64_t asked = base::realtime_us();
        GPUHOST_TRY(seen, catalogue_changed_us(root_)); // not under the lock: what an answer waits for most
        const std::lock_guard lock(mutex_);
        if (value_ && time_.holds(seen, asked))
            return value_;
        GPUHOST_TRY(stamp, catalogue_changed_us(root_)); // others may have loaded meanwhile
        if (value_ && time_.holds(stamp, asked))
            return value_;
        const LoadTime time{stamp, base::realtime_us()};
        GPUHOST_TRY(loaded, T::load(root_));
        value_ = std::make_shared<const T>(std::move(loaded));
        time_ = time;
        return value_;
    }

  private:
    const base::Root& root_;
    std::mutex mutex_;
    std::shared_ptr<const T> value_;
    LoadTime time_;
};

} // namespace gpuhost::images
