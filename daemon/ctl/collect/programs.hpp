// SPDX-License-Identifier: Apache-2.0
// Runs apt, curl and skopeo for 'bundle collect', without a shell.
#pragma once

#include "daemon/base/interrupt.hpp"
#include "daemon/base/process.hpp"
#include "images/create/package_workshop.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

class Session;

/// While the object exists, Ctrl-C ends the running program, and then gpuhostctl.
class Programs {
  public:
    explicit Programs(const Session& session) : session_(session) {}

    struct Call {
        images::Tool tool;
        std::vector<std::string> words;
        std::string directory = {};                ///< empty: the current one
        std::vector<std::string> environment = {}; ///< beside proxies, HOME and paths of credentials
        std::chrono::milliseconds deadline = std::chrono::minutes(10);
        bool is_answer = false; ///< the output is parsed, so stderr is in Finished::errors
        std::function<void(std::string_view)> on_line = {};
    };

    /// Runs a program to its end and returns its exit status and output. Fails with Unsupported if it is not
    /// installed, with Timeout after the deadline, and with Cancelled after Ctrl-C.
    [[nodiscard]] base::Result<base::Finished> attempt(const Call& call) const;
    /// Like attempt(), but fails with Failed if the exit status is not 0. Prints the program's output then.
    [[nodiscard]] base::Result<std::string> run(const Call& call) const;

    /// Prints the last lines of a program's output to stderr, indented.
    void show(const std::string& output) const;
    /// Prints a line about the progress to stderr.
    void report(const std::string& line) const;

  private:
    const Session& session_;
    base::Interrupt interrupt_;
};

/// Returns the text in a program's output that states the error: apt's first line "E: …", else the last line,
/// or the message in it if it is a line of skopeo's log.
[[nodiscard]] std::string reason_in(std::string_view output);

} // namespace gpuhost::ctl
