// SPDX-License-Identifier: Apache-2.0
// How far an operation is: a bar that is redrawn on a terminal, else one line each time that a step begins.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <set>
#include <string>

namespace gpuhost::ctl {

/// "[=====>      ]"
[[nodiscard]] std::string bar(double fraction);

/// One line of at most `screen.columns - 1` columns: " 43% [=====>      ] 3/7 load nvidia 550.163.01: loading
/// …".
[[nodiscard]] std::string progress_bar(const Screen& screen, const base::Json& operation);

struct SeenSteps {
    std::set<std::size_t> forth;
    std::set<std::size_t> back;
};
/// The lines for steps that began since `seen`, which is brought up to date. However many changes were missed
/// in between, each step is named once going forth and, where that
/// matters to anybody, once going back.
[[nodiscard]] std::string progress_lines(const base::Json& operation, SeenSteps& seen);

class Progress {
  public:
    enum class Mode { Bar, Lines, Silent };
    Progress(const Screen& screen, Mode mode) : screen_(screen), mode_(mode) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(const base::Json& operation);
    void finish(const base::Json& operation); ///< its last lines, and no bar
    void clear();                             ///< takes the bar off the screen

  private:
    Screen screen_;
    Mode mode_;
    SeenSteps seen_;
    bool drawn_ = false;
};

} // namespace gpuhost::ctl
