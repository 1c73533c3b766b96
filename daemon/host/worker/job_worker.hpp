// SPDX-License-Identifier: Apache-2.0
// Base class of the workers of all launchers. A worker runs one job at a time, which JobWatch follows, and is
// idle between two jobs.
#pragma once

#include "daemon/host/event.hpp"
#include "daemon/host/worker/job_files.hpp"
#include "daemon/host/worker/launcher.hpp"

#include <functional>
#include <memory>
#include <string>

namespace gpuhost::host {

class JobWorker : public Worker {
  public:
    void kill() final;
    [[nodiscard]] bool can_go_on(std::chrono::seconds deadline) const final;
    [[nodiscard]] base::Result<void> go_on(const Launch& launch, JobCallbacks callbacks) final;
    void dismiss(std::function<void()> gone) final;
    [[nodiscard]] std::string job() const final { return job_; }

  protected:
    /// `job` is the worker's first job, whose name the worker has. `socket` is the daemon's end of the
    /// worker's stdin; a recovered worker has none.
    JobWorker(Event& event, const base::Root& root, std::string job, base::UniqueFd socket)
        : event_(event), root_(root), job_(std::move(job)), socket_(std::move(socket)) {}

    /// Follows the first job. If `must_have_files` is set and the job's files can't be watched, fails without
    /// a callback.
    [[nodiscard]] base::Result<void> follow(const Launch& launch, JobCallbacks callbacks,
                                            bool must_have_files);
    /// Launchers call this when no process of the worker is left. A job without a result ends with the error
    /// `died`. May destroy this object.
    void over(base::Error died);
    /// Launchers call this if the worker could not be started. May destroy this object.
    void not_started(base::Error why);

    virtual void kill_processes() = 0;
    /// Sets a deadline, counted from now, after which the worker is killed: for its job, or for its exit.
    virtual void set_deadline(std::chrono::seconds deadline) = 0;
    virtual void clear_deadline() = 0;
    /// Returns true if the worker's total time, which its launcher limits, allows a job with this deadline
    /// now.
    [[nodiscard]] virtual bool has_time_for(std::chrono::seconds deadline) const = 0;

    [[nodiscard]] Event& event() const { return event_; }

  private:
    [[nodiscard]] base::Result<std::unique_ptr<JobWatch>>
    make_watch(const Launch& launch, JobCallbacks callbacks, bool must_have_files);
    void begin(const Launch& launch, std::unique_ptr<JobWatch> watch);

    Event& event_;
    const base::Root& root_;
    std::string job_;
    base::UniqueFd socket_;
    std::unique_ptr<JobWatch> watch_; ///< of the newest job
    bool rests_ = false;              ///< the worker is idle: its newest job has ended
    bool gone_ = false;               ///< the worker exited while it was idle
    bool killed_ = false;             ///< SIGKILL requested, possibly still in flight
    std::function<void()> when_gone_;
};

} // namespace gpuhost::host
