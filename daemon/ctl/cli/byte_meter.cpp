// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/byte_meter.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/text.hpp"

namespace gpuhost::ctl {

namespace {

constexpr std::uint64_t redraw_us = 100'000; ///< shortest time between two updates of the bar

} // namespace

void ByteMeter::add(std::uint64_t bytes) {
    done_ += bytes;
    const std::uint64_t now = base::monotonic_us();
    if (drawn_us_ != 0 && now < drawn_us_ + redraw_us)
        return;
    drawn_us_ = now;
    const double fraction = total_ == 0 ? 0 : static_cast<double>(done_) / static_cast<double>(total_);
    progress_.update(
        {{"progress", fraction},
         {"text", phrase_ + " " + human_bytes(done_) + (total_ == 0 ? "" : " of " + human_bytes(total_))}});
}

} // namespace gpuhost::ctl
