// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/host/event.hpp"

#include <deque>
#include <string>

namespace gpuhost::host {

/// Removes directory trees in portions, so that a compiler's tree with thousands of files does not block the
/// event loop. Logs files that can't be removed.
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
