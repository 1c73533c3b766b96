// SPDX-License-Identifier: Apache-2.0
// Shows the progress of long work of gpuhostctl itself, in bytes: a bar on a terminal, nothing
// elsewhere and with --quiet.
#pragma once

#include "daemon/ctl/cli/progress.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::ctl {

class ByteMeter {
  public:
    /// `phrase` names the work: "hashing". `total` is in bytes; 0: unknown.
    ByteMeter(const Screen& err, std::string phrase, std::uint64_t total)
        : progress_(err, err.terminal && !err.quiet ? Progress::Mode::Bar : Progress::Mode::Silent),
          phrase_(std::move(phrase)), total_(total) {}

    void add(std::uint64_t bytes);

  private:
    Progress progress_;
    std::string phrase_;
    std::uint64_t total_;
    std::uint64_t done_ = 0;
    std::uint64_t drawn_us_ = 0;
};

} // namespace gpuhost::ctl
