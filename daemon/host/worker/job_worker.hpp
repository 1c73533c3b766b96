// SPDX-License-Identifier: Apache-2.0
// What a worker is to the daemon, whoever started it: a job at a time, told of by JobWatch, and between two jobs rest.
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
    /// `job` is the one that it was started with, which names it; `socket` the daemon's end of its stdin, none for one
    /// that was adopted.
    JobWorker(Event& event, const base::Root& root, std::string job, base::UniqueFd socket)
        : event_(event), root_(root), job_(std::move(job)), socket_(std::move(socket)) {}

    /// Follows its first job. Fails, and calls nobody, where the job's files can't be watched but must be.
    [[nodiscard]] base::Result<void> follow(const Launch& launch, JobCallbacks callbacks,
                                            bool must_have_files);
    /// No process of it is left; `died` is what that means for a job without a result. May destroy this.
    void over(base::Error died);
    /// It never was. May destroy this.
    void not_started(base::Error why);

    virtual void kill_processes() = 0;
    /// The time that its job, or its end, has from now on.
    virtual void set_deadline(std::chrono::seconds deadline) = 0;
    virtual void clear_deadline() = 0;
    /// Whether it may live for so long from now on.
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
    bool rests_ = false;              ///< that has ended, and the worker has not
    bool gone_ = false;               ///< while it rested
    bool killed_ = false;             ///< or will be: what was sent for it is on its way
    std::function<void()> when_gone_;
};

} // namespace gpuhost::host
