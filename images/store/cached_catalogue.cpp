// SPDX-License-Identifier: Apache-2.0
#include "images/store/cached_catalogue.hpp"

#include "images/store/catalogue.hpp"

namespace gpuhost::images {

using base::Result;

namespace {

/// The longest resolution of a file system's timestamps, in microseconds. A second change within this time
/// does not change the timestamp.
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
    // A load can miss a change: if two changes are in the same tick, the later one does not change the stamp.
    // This is impossible if the load began more than a tick after the stamp. It is also impossible if the
    // stamp is in the future because the clock was set back: later changes have other stamps. In all other
    // cases, only calls from before the load may use its result.
    const bool settled = stamp + tick_us < began || began + tick_us < stamp;
    return settled || began >= asked;
}

} // namespace gpuhost::images
