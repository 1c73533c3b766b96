// SPDX-License-Identifier: Apache-2.0
// Runs another program, to its end or in the background. For workers only: the daemon's loop never waits.
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
    /// Started in place of argv[0], such as "/proc/self/fd/3"; empty: argv[0].
    std::string program;
    /// "NAME=value", added to PATH and LC_ALL=C. Nothing else is inherited.
    std::vector<std::string> environment;
    std::string directory; ///< empty: inherited
    /// After it the process group gets SIGKILL, and some seconds to exit.
    std::chrono::milliseconds deadline{60'000};
    std::size_t output_limit = 1U << 20; ///< of stdout and stderr together; the rest is dropped and counted
    bool drop_errors = false;            ///< discards stderr, for output that is parsed
    /// If readable, its process group gets SIGTERM, and SIGKILL if that has no effect.
    int interrupt = -1;
    std::function<void(std::string_view line)> on_line; ///< called for each output line at once; may be empty
};

struct Finished {
    int exit_status = 0; ///< 128 + N for signal N
    bool timed_out = false;
    std::string output; ///< stdout and stderr, interleaved
};

/// Runs a program and waits for it. Fails if it can't be started; a non-zero exit is not an error. Every wait
/// has a limit, even that for a process that SIGKILL does not end.
[[nodiscard]] Result<Finished> run(const Command& command);

/// A background program. The destructor ends its process group.
class Running {
  public:
    /// Starts a program. The deadline, the limit and `on_line` are ignored.
    [[nodiscard]] static Result<Running> start(const Command& command);
    Running(Running&& other) noexcept
        : output_(std::move(other.output_)), pid_(std::exchange(other.pid_, -1)) {}
    Running& operator=(Running&&) = delete;
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

    [[nodiscard]] int output() const { return output_.get(); } ///< its output; non-blocking

  private:
    Running(UniqueFd output, pid_t pid) : output_(std::move(output)), pid_(pid) {}
    UniqueFd output_;
    pid_t pid_;
};

} // namespace gpuhost::base
