// SPDX-License-Identifier: Apache-2.0
// The files of jobs (daemon/core/job.hpp) as the daemon writes and reads them, for all launchers.
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

/// Creates the directory of a worker's first job, with request.json and an empty events file. `owner`, the
/// worker's user, owns all of them. Returns both ends of the worker's stdin, with `inputs` queued in it.
[[nodiscard]] base::Result<WorkerSocket> prepare_job(const base::Root& root, const core::JobRequest& request,
                                                     Launcher::Owner owner, std::span<const int> inputs);

/// Creates the directory of a further job, for the worker that was started with the job `first`. This worker
/// runs as the daemon's user.
[[nodiscard]] base::Result<void> prepare_next_job(const base::Root& root, const core::JobRequest& request,
                                                  const std::string& first);

/// Returns the first job of the worker that runs `job`; this names its unit. Returns `job` if no other is
/// recorded.
[[nodiscard]] std::string first_job(const base::Root& root, const std::string& job);

/// Returns the newest job of a transaction that has a request.json; empty if there is none.
[[nodiscard]] std::string newest_job(const base::Root& root, std::uint64_t transaction);

/// Returns the number of the Start record that precedes a job, which is part of the job's name; 0 for an
/// invalid name.
[[nodiscard]] std::uint64_t start_of(std::string_view job);

/// Follows a job's events file with inotify. Reports progress and, once, the end of the job.
class JobWatch {
  public:
    enum class Until {
        ProcessEnd, ///< the job ends when the launcher calls end() or not_started()
        Result,     ///< or earlier, with a result in the file: the worker is then idle
    };
    /// `kill` must kill the worker. It is called once if the events file exceeds its size limits; the job's
    /// result is then BadContent.
    JobWatch(JobCallbacks callbacks, std::function<void()> kill, Until until = Until::ProcessEnd)
        : callbacks_(std::move(callbacks)), kill_(std::move(kill)), until_(until) {}

    /// Starts watching. May call `progress` before it returns, for events that a recovered worker wrote
    /// earlier. Never calls `ended` before it returns.
    [[nodiscard]] base::Result<void> start(Event& event, const base::Root& root, std::string_view job);
    /// Stops watching, reads the remaining events and calls `ended`, which may destroy this object. If the
    /// file has no result, the job ends with the error `died`.
    void end(base::Error died);
    /// Calls `ended` for a worker that was never started.
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
    /// Timer that reports a result in the loop's next iteration.
    Source ending_;
};

} // namespace gpuhost::host
