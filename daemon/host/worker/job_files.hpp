// SPDX-License-Identifier: Apache-2.0
// The daemon's end of a job's files (core/job.hpp): what every launcher does alike.
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

/// What a worker finds when it starts: its directory with request.json and an empty events file, all owned by
/// its user, and its stdin, whose both ends are returned.
[[nodiscard]] base::Result<WorkerSocket> prepare_job(const base::Root& root, const core::JobRequest& request,
                                                     Launcher::Owner owner, std::span<const int> inputs);

/// The same for the next job of a worker that runs as the daemon's user and was started with the job `first`.
[[nodiscard]] base::Result<void> prepare_next_job(const base::Root& root, const core::JobRequest& request,
                                                  const std::string& first);

/// The job that this job's worker was started with.
[[nodiscard]] std::string first_job(const base::Root& root, const std::string& job);

/// Of those of a transaction that a worker was or is told of; empty: there is none.
[[nodiscard]] std::string newest_job(const base::Root& root, std::uint64_t transaction);

/// The number of the Start record that announced a job; 0: not known.
[[nodiscard]] std::uint64_t start_of(std::string_view job);

/// Follows an events file by inotify and tells of the job: its progress, and once its end.
class JobWatch {
  public:
    enum class Until {
        ProcessEnd, ///< end() or not_started() tells of it
        Result,     ///< or, before, the result, with which the worker rests
    };
    /// `kill` is called, once, when the worker writes more than a job has to say; its result is BadContent then.
    JobWatch(JobCallbacks callbacks, std::function<void()> kill, Until until = Until::ProcessEnd)
        : callbacks_(std::move(callbacks)), kill_(std::move(kill)), until_(until) {}

    /// Progress may come before this returns: what an adopted job wrote while nobody watched. The end never does.
    [[nodiscard]] base::Result<void> start(Event& event, const base::Root& root, std::string_view job);
    /// Stops watching, reads what is left and calls `ended`, which may destroy this. Without a result in the
    /// file, `died` is the result.
    void end(base::Error died);
    /// The same for a worker that was never started.
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
    std::string partial_;   ///< the line not yet ended
    std::optional<core::JobResult> result_;
    Event* event_ = nullptr;
    Source source_;
    Source ending_; ///< a result is there, which the loop's next turn tells of
};

} // namespace gpuhost::host
