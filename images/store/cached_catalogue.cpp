// SPDX-License-Identifier: Apache-2.0
#include "images/store/cached_catalogue.hpp"

#include "images/store/catalogue.hpp"

namespace gpuhost::images {

using base::Result;

namespace {

/// Timestamps of files advance in clock ticks: a second change in the same tick is invisible. No file system
/// has longer ticks than this.
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
    // A stamp in the future was written before the clock was set back. The next change has a different stamp.
    const bool settled = stamp + tick_us < began || began + tick_us < stamp;
    return settled || began >= asked;
}

} // namespace gpuhost::images
