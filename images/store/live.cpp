// SPDX-License-Identifier: Apache-2.0
#include "images/store/live.hpp"

#include "images/store/catalogue.hpp"

namespace gpuhost::images {

using base::Result;

namespace {

/// Times of files move on in ticks of the clock: of two changes in one tick the second leaves no trace. No file system
/// has longer ones.
constexpr std::uint64_t tick_us = 1'000'000;

} // namespace

Result<std::uint64_t> catalogue_changed_us(const base::Root& root) {
    const auto st = root.stat(catalogue_directory);
    if (!st && st.error().code == base::Errc::NotFound)
        return std::uint64_t{0};
    if (!st)
        return base::fail(st.error());
    return base::modified_us(*st);
}

bool LoadTime::holds(std::uint64_t now, std::uint64_t asked) const {
    if (stamp != now)
        return false;
    // A time that is yet to come is of a clock that was set back since; the next change has another.
    const bool settled = stamp + tick_us < began || began + tick_us < stamp;
    return settled || began >= asked;
}

} // namespace gpuhost::images
