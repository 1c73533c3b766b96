// SPDX-License-Identifier: Apache-2.0
// Runs another program, to its end or beside. For workers only: the daemon's loop never waits.
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
    std::vector<std::string> argv; ///< argv[0] is an absolute path, or a name looked up in our own PATH
    std::string program; ///< what is started in the place of argv[0], as "/proc/self/fd/3"; empty: that
    std::vector<std::string> environment;       ///< "NAME=value" added to PATH, LC_ALL=C and nothing else
    std::string directory;                      ///< empty: inherited
    std::chrono::milliseconds deadline{60'000}; ///< then SIGKILL to its process group, and some seconds more
    std::size_t output_limit = 1U << 20; ///< of stdout and stderr together; the rest is dropped and counted
    bool drop_errors = false;            ///< stderr goes nowhere: for what is to be parsed
    int interrupt = -1; ///< readable: SIGTERM to its process group, and SIGKILL where that does not help
    std::function<void(std::string_view line)> on_line; ///< every output line as it comes; may be empty
};

struct Finished {
    int exit_status = 0; ///< 128 + N for signal N
    bool timed_out = false;
    std::string output; ///< stdout and stderr as they came
};

/// Failing to start is an Error; a non-zero exit is not. Nothing is waited for without a bound, not even what a kill does not end.
[[nodiscard]] Result<Finished> run(const Command& command);

/// A program that runs beside, and whose process group ends when this goes.
class Running {
  public:
    /// Of a command without a deadline, a limit and `on_line`.
    [[nodiscard]] static Result<Running> start(const Command& command);
    Running(Running&& other) noexcept
        : output_(std::move(other.output_)), pid_(std::exchange(other.pid_, -1)) {}
    Running& operator=(Running&&) = delete;
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

    [[nodiscard]] int output() const { return output_.get(); } ///< what it writes, without blocking

  private:
    Running(UniqueFd output, pid_t pid) : output_(std::move(output)), pid_(pid) {}
    UniqueFd output_;
    pid_t pid_;
};

} // namespace gpuhost::base
