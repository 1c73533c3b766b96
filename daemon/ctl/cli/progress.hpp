// SPDX-License-Identifier: Apache-2.0
// Shows an operation's progress: a bar on a terminal, elsewhere one line for each step that begins.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <set>
#include <string>

namespace gpuhost::ctl {

/// Returns a bar that is filled to `fraction` (0 to 1): "[=====>      ]".
[[nodiscard]] std::string bar(double fraction);

/// Returns one line of at most `screen.columns - 1` columns: " 43% [=====>      ] 3/7 load nvidia 550.163.01:
/// loading …".
[[nodiscard]] std::string progress_bar(const Screen& screen, const base::Json& operation);

struct SeenSteps {
    std::set<std::size_t> forth;
    std::set<std::size_t> back;
};
/// Returns a line for each step that began since `seen`, and updates `seen`. A step has one line when it
/// runs. If the operation changes the host, a step has another line when it is undone. Steps that began
/// between two calls are not lost. Skipped steps are not counted. All steps of a group are running at once;
/// only the first of them counts as begun.
[[nodiscard]] std::string progress_lines(const base::Json& operation, SeenSteps& seen);

class Progress {
  public:
    enum class Mode { Bar, Lines, Silent };
    Progress(const Screen& screen, Mode mode) : screen_(screen), mode_(mode) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(const base::Json& operation);
    void finish(const base::Json& operation); ///< prints the last lines and clears the bar
    void clear();                             ///< removes the bar from the screen

  private:
    Screen screen_;
    Mode mode_;
    SeenSteps seen_;
    bool drawn_ = false;
};

} // namespace gpuhost::ctl
