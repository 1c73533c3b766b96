// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace gpuhost::ctl {

/// A text that is painted over and over on stdout, a terminal, as top(1) does it. What was there before comes back when this
/// goes, and below it the last text.
class LiveScreen {
  public:
    LiveScreen() = default;
    LiveScreen(const LiveScreen&) = delete;
    LiveScreen& operator=(const LiveScreen&) = delete;
    ~LiveScreen() { leave(); }

    /// What does not fit is not seen.
    void paint(std::string text, std::size_t rows);
    void leave();

  private:
    bool painted_ = false;
    std::string text_;
};

} // namespace gpuhost::ctl
