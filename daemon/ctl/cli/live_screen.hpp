// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace gpuhost::ctl {

/// Repaints a text on the terminal, as top(1) does; stdout must be the terminal. The destructor restores the
/// previous screen and prints the last text below it.
class LiveScreen {
  public:
    LiveScreen() = default;
    LiveScreen(const LiveScreen&) = delete;
    LiveScreen& operator=(const LiveScreen&) = delete;
    ~LiveScreen() { leave(); }

    /// Paints as many lines as fit in `rows`.
    void paint(std::string text, std::size_t rows);
    void leave();

  private:
    bool painted_ = false;
    std::string text_;
};

} // namespace gpuhost::ctl
