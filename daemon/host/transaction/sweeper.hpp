// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/host/event.hpp"

#include <deque>
#include <string>

namespace gpuhost::host {

/// Removes trees without keeping the loop: a compiler's has thousands of files. What can't be removed is logged.
class Sweeper {
  public:
    Sweeper(Event& event, const base::Root& root) : event_(event), root_(root) {}

    void remove(std::string path);

  private:
    void sweep();

    Event& event_;
    const base::Root& root_;
    std::deque<std::string> paths_;
    Source next_;
};

} // namespace gpuhost::host
