// SPDX-License-Identifier: Apache-2.0
// Runs another program, to its end or in the background. These functions wait, so the daemon's loop must not
// call them.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace gpuhost::base {

struct Command {
    /// argv[0] is an absolute path, or a name that is searched in this process's PATH.
    std::vector<std::string> argv;
    /// The file to execute if it is not argv[0], such as "/proc/self/fd/3"; empty: argv[0].
    std::string program;
    /// "NAME=value". The program's environment consists of these, PATH and LC_ALL=C; nothing is inherited.
    std::vector<std::string> environment;
    std::string directory; ///< empty: inherited
    /// Maximum run time. After this time, the process group gets SIGKILL, and run() waits 5 seconds for the
    /// exit.
    std::chrono::milliseconds deadline{60'000};
    std::size_t output_limit = 1U << 20; ///< bytes of stdout and stderr together; the rest is dropped
    bool drop_errors = false;            ///< discards stderr, for output that is parsed
    bool separate_errors = false;        ///< returns stderr in Finished::errors instead
    /// A descriptor, or -1. When the descriptor becomes readable, the process group gets SIGTERM, and SIGKILL
    /// 5 seconds later.
    int interrupt = -1;
    /// Called with each line of output as it arrives; may be empty.
    std::function<void(std::string_view line)> on_line;
};

struct Finished {
    int exit_status = 0; ///< 128 + N for signal N
    bool timed_out = false;
    std::string output; ///< stdout and stderr, interleaved
    std::string errors; ///< stderr, if Command::separate_errors is set
};

/// Runs a program and waits for it. Fails if it can't be started; a non-zero exit status is not a failure. If
/// even SIGKILL does not end the process, returns as if the process had died of SIGKILL.
[[nodiscard]] Result<Finished> run(const Command& command);

/// A background program. The destructor ends its process group with SIGTERM, and with SIGKILL after 5
/// seconds.
class Running {
  public:
    /// Starts a program. Ignores the command's deadline, output_limit, separate_errors, interrupt and
    /// on_line.
    [[nodiscard]] static Result<Running> start(const Command& command);
    Running(Running&& other) noexcept
        : output_(std::move(other.output_)), pid_(std::exchange(other.pid_, -1)) {}
    Running& operator=(Running&&) = delete;
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

    /// A pipe with stdout and stderr of the program; non-blocking.
    [[nodiscard]] int output() const { return output_.get(); }

  private:
    Running(UniqueFd output, pid_t pid) : output_(std::move(output)), pid_(pid) {}
    UniqueFd output_;
    pid_t pid_;
};

} // namespace gpuhost::base
