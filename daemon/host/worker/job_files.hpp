// SPDX-License-Identifier: Apache-2.0
// The daemon's end of a job's files (core/job.hpp): what all launchers share.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/host/event.hpp"
#include "daemon/host/worker/launcher.hpp"
#include "daemon/host/worker/worker_socket.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace gpuhost::host {

/// Prepares a job's directory with request.json and an empty events file, all owned by the worker's user.
/// Returns both ends of the worker's stdin.
[[nodiscard]] base::Result<WorkerSocket> prepare_job(const base::Root& root, const core::JobRequest& request,
                                                     Launcher::Owner owner, std::span<const int> inputs);

/// Prepares the next job of a worker that runs as the daemon's user and was started with the job `first`.
[[nodiscard]] base::Result<void> prepare_next_job(const base::Root& root, const core::JobRequest& request,
                                                  const std::string& first);

/// Returns the job that this job's worker was started with.
[[nodiscard]] std::string first_job(const base::Root& root, const std::string& job);

/// Returns the newest job of a transaction that was written for a worker; empty if there is none.
[[nodiscard]] std::string newest_job(const base::Root& root, std::uint64_t transaction);

/// Returns the number of the Start record that announced a job; 0 if unknown.
[[nodiscard]] std::uint64_t start_of(std::string_view job);

/// Follows an events file by inotify and reports the job's progress and, once, its end.
class JobWatch {
  public:
    enum class Until {
        ProcessEnd, ///< the end is reported by end() or not_started()
        Result,     ///< or earlier by the result, after which the worker is idle
    };
    /// `kill` is called once if the worker exceeds the size limits of the events file; its result is then
    /// BadContent.
    JobWatch(JobCallbacks callbacks, std::function<void()> kill, Until until = Until::ProcessEnd)
        : callbacks_(std::move(callbacks)), kill_(std::move(kill)), until_(until) {}

    /// Starts watching. Progress may be reported before this returns: what an recovered job wrote unwatched.
    /// The end never is.
    [[nodiscard]] base::Result<void> start(Event& event, const base::Root& root, std::string_view job);
    /// Stops watching, reads the remaining events and calls `ended`, which may destroy this object. Without a
    /// result in the file, `died` is the result.
    void end(base::Error died);
    /// Reports the end of a worker that was never started.
    void not_started(base::Error why);

  private:
    void finish(JobEnd end);
    void read();
    void rest_soon();
    void overflow();

    JobCallbacks callbacks_;
    std::function<void()> kill_;
    Until until_;
    base::UniqueFd events_;
    std::size_t bytes_ = 0; ///< read so far
    std::string partial_;   ///< the incomplete last line
    std::optional<core::JobResult> result_;
    Event* event_ = nullptr;
    Source source_;
    /// Reports a result on the loop's next turn.
    Source ending_;
};

} // namespace gpuhost::host
