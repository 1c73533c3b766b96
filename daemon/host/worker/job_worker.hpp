// SPDX-License-Identifier: Apache-2.0
// The part of a worker that all launchers share: one job at a time, reported by JobWatch, and idle between
// two jobs.
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
    /// `job` is the job that the worker was started with, which names it. `socket` is the daemon's end of its
    /// stdin, invalid for an recovered worker.
    JobWorker(Event& event, const base::Root& root, std::string job, base::UniqueFd socket)
        : event_(event), root_(root), job_(std::move(job)), socket_(std::move(socket)) {}

    /// Follows the first job. Fails, without a callback, if `must_have_files` is set and the job's files
    /// can't be watched.
    [[nodiscard]] base::Result<void> follow(const Launch& launch, JobCallbacks callbacks,
                                            bool must_have_files);
    /// Reports that no process of the worker is left; `died` is the error of a job without a result. May
    /// destroy this object.
    void over(base::Error died);
    /// Reports that the worker was never started. May destroy this object.
    void not_started(base::Error why);

    virtual void kill_processes() = 0;
    /// Sets the time left for the job, or for exiting, counted from now.
    virtual void set_deadline(std::chrono::seconds deadline) = 0;
    virtual void clear_deadline() = 0;
    /// Returns true if the worker may live that long, counted from now.
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
    std::unique_ptr<JobWatch> watch_; ///< of the last job
    bool rests_ = false;              ///< the last job has ended, and the worker is idle
    bool gone_ = false;               ///< exited while idle
    bool killed_ = false;             ///< SIGKILL requested, possibly still in flight
    std::function<void()> when_gone_;
};

} // namespace gpuhost::host
