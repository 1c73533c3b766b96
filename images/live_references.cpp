// SPDX-License-Identifier: Apache-2.0
#include "images/live_references.hpp"

#include "daemon/base/clock.hpp"

namespace gpuhost::images {

using base::Result;

namespace {

/// Times of files move on in ticks of the clock: of two changes in one tick the second leaves no trace. No file system
/// has longer ones.
constexpr std::uint64_t tick_us = 1'000'000;

/// 0 as long as nothing was ever imported.
Result<std::uint64_t> changed_us(const base::Root& root) {
    const auto st = root.stat(catalogue_directory);
    if (!st && st.error().code == base::Errc::NotFound)
        return std::uint64_t{0};
    if (!st)
        return base::fail(st.error());
    return static_cast<std::uint64_t>(st->st_mtim.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(st->st_mtim.tv_nsec) / 1'000;
}

} // namespace

bool LiveReferences::holds(const Loaded& loaded, std::uint64_t stamp_us, std::uint64_t asked_us) const {
    if (!loaded.references || loaded.stamp_us != stamp_us)
        return false;
    // A time that is yet to come is of a clock that was set back since; the next change has another.
    const bool settled = stamp_us + tick_us < loaded.began_us || loaded.began_us + tick_us < stamp_us;
    return settled || loaded.began_us >= asked_us;
}

Result<std::shared_ptr<const References>> LiveReferences::current() {
    const std::uint64_t asked = base::realtime_us();
    GPUHOST_TRY(seen, changed_us(root_)); // not under the lock: it is what an answer waits for most
    const std::lock_guard lock(mutex_);
    if (holds(loaded_, seen, asked))
        return loaded_.references;
    GPUHOST_TRY(stamp, changed_us(root_)); // others may have loaded meanwhile
    if (holds(loaded_, stamp, asked))
        return loaded_.references;
    const std::uint64_t began = base::realtime_us();
    GPUHOST_TRY(references, References::load(root_));
    loaded_ = {std::make_shared<const References>(std::move(references)), stamp, began};
    return loaded_.references;
}

} // namespace gpuhost::images
