// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/clock.hpp"
#include "daemon/base/root.hpp"

#include <cstdint>
#include <memory>
#include <mutex>

namespace gpuhost::images {

/// The time of a load of the catalogue, to decide whether its result is still current. All times are in
/// microseconds since 1970, as for timestamps of files.
struct LoadTime {
    std::uint64_t stamp = 0; ///< catalogue_changed_us() before the load
    std::uint64_t began = 0;

    /// Reports whether the result of this load may answer a call that was made at `asked`. `now` is
    /// catalogue_changed_us() during that call.
    [[nodiscard]] bool holds(std::uint64_t now, std::uint64_t asked) const;
};
/// Returns the time of the last change of the catalogue; 0 if no bundle was ever imported.
[[nodiscard]] base::Result<std::uint64_t> catalogue_changed_us(const base::Root& root);

/// Caches the result of T::load() and loads it again after the catalogue changed. Thread-safe.
template <class T>
class CachedCatalogue {
  public:
    /// `root` must outlive the object.
    explicit CachedCatalogue(const base::Root& root) : root_(root) {}

    /// Returns a value that contains all changes of the catalogue before this call. Concurrent callers share
    /// one load. Fails if T::load() fails.
    [[nodiscard]] base::Result<std::shared_ptr<const T>> current() {
        const std::uint64_t asked = base::realtime_us();
        GPUHOST_TRY(seen, catalogue_changed_us(root_)); // a system call, so it is made before the lock
        const std::lock_guard lock(mutex_);
        if (value_ && time_.holds(seen, asked))
            return value_;
        GPUHOST_TRY(stamp, catalogue_changed_us(root_)); // another thread may have loaded meanwhile
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
