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

/// Creates the directory of a job, with request.json and an empty events file. `owner`, the
/// worker's user, owns all of them. Returns both ends of the worker's stdin, with `inputs` queued in it.
[[nodiscard]] base::Result<WorkerSocket> prepare_job(const base::Root& root, const core::JobRequest& request,
                                                     Launcher::Owner owner, std::span<const int> inputs);

/// Returns the job that the worker of `job` was started for; the worker's unit and pid file belong to that
/// job. It may be an earlier job than `job` if gpuhostd 0.1.0-e61b5ce started the worker. This version ran
/// later jobs in the same worker, and named the first job in the file "worker".
[[nodiscard]] std::string first_job(const base::Root& root, const std::string& job);

/// Returns the newest job of a transaction that has a request.json; empty if there is none.
[[nodiscard]] std::string newest_job(const base::Root& root, std::uint64_t transaction);

/// Returns the number of the Start record that precedes a job; 0 for an invalid name. This number is part of
/// the job's name.
[[nodiscard]] std::uint64_t start_of(std::string_view job);

/// Follows a job's events file with inotify. Reports progress, the end of each step but the last and, once,
/// the end of the job.
class JobWatch {
  public:
    /// The limit of lines in an events file. A worker that reports progress 10 times a second reaches it
    /// after 14 hours.
    static constexpr std::size_t most_lines = 512U << 10;

    /// `kill` must kill the worker. It is called once if the worker violates the protocol: it writes too
    /// much, or begins a step that is not next. The job then ends as Violated, with BadContent.
    JobWatch(const Launch& launch, JobCallbacks callbacks, std::function<void()> kill)
        : callbacks_(std::move(callbacks)), kill_(std::move(kill)), job_(launch.request.job),
          steps_(launch.request.phase == core::Phase::Apply ? launch.request.steps.size() : 1),
          recorded_(launch.recorded) {}

    /// Starts watching. May call `progress` and `step` before it returns, for events that a recovered worker
    /// wrote earlier. Never calls `ended` before it returns. The job of a recovered worker may have no events
    /// file, or something else in its place.
    [[nodiscard]] base::Result<void> start(Event& event, const base::Root& root, bool recovered);
    /// Reads the events that were written since the last read. Calls `progress` and `step`.
    void read();
    /// Stops watching, reads the remaining events and calls `ended`, which may destroy this object. If the
    /// file has no result, the job ends with the error `died`.
    void end(base::Error died);
    /// Calls `ended` for a worker that was never started.
    void not_started(base::Error why);

  private:
    void finish(JobEnd end);
    void handle_line(std::string_view line);
    void handle(core::JobEvent event);
    void begin_next(std::size_t index);
    void violation(const char* what);

    JobCallbacks callbacks_;
    std::function<void()> kill_;
    std::string job_;
    std::size_t steps_;     ///< number of steps: the present one and those that may follow
    std::size_t index_ = 0; ///< index of the present step in the worker's request
    std::size_t recorded_;  ///< steps whose ends were reported to an earlier daemon
    base::UniqueFd events_;
    std::size_t bytes_ = 0;                     ///< read so far
    std::size_t lines_ = 0;                     ///< read so far
    std::string partial_;                       ///< the incomplete last line
    std::optional<core::JobProgress> progress_; ///< not yet reported
    std::optional<core::JobResult> result_;     ///< of the present step
    bool is_violated_ = false;                  ///< the result is that of violation()
    Source source_;
};

} // namespace gpuhost::host
