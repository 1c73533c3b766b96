// SPDX-License-Identifier: Apache-2.0
// The interface through which the daemon starts workers, the processes that run steps.
//
// Workers are transient units if systemd is the init (launcher_systemd), direct children for --root, rescue
// and tests (launcher_direct). A worker outlives its daemon, and the next daemon recovers it, except with
// DirectLauncher::Fate::DieWithDaemon.
#pragma once

#include "daemon/core/job.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::host {

struct Launch {
    core::JobRequest request;
    core::Sandbox sandbox = core::Sandbox::Store;
    std::vector<std::string> writable; ///< paths, besides the sandbox's own directories
    std::chrono::seconds deadline{60};
    /// Time for further jobs in the same worker; zero if the worker exits after this job.
    std::chrono::seconds more{0};
};

struct JobEnd {
    enum class How {
        Reported, ///< the worker wrote a result, or was killed after its deadline (Timeout)
        /// The worker died without a result. The error is Interrupted, and the phase may run again.
        Died,
        NotStarted, ///< the worker never ran; the result has the reason
    };
    core::JobResult result;
    How how = How::Reported;
    bool rests = false; ///< the worker is idle: it waits for go_on() or dismiss()
};

struct JobCallbacks {
    std::function<void(const core::JobProgress&)> progress;
    /// Called once for each job: when the worker is idle, or when no process of it is left that can be
    /// killed. Never called before start(), recover() or go_on() has returned.
    std::function<void(JobEnd)> ended;
};

/// A running worker. Destroying this object does not kill the worker: it is no longer watched, and gets no
/// further job.
class Worker {
  public:
    virtual ~Worker() = default;
    virtual void kill() = 0; ///< sends SIGKILL to all of its processes; `ended` follows
    /// Returns the worker's first job, which names its unit.
    [[nodiscard]] virtual std::string job() const = 0;
    /// Returns true if the worker is idle and has time for a job with this deadline.
    [[nodiscard]] virtual bool can_go_on(std::chrono::seconds deadline) const = 0;
    /// Sends an idle worker another job; requires can_go_on(). The job must need the same sandbox and have no
    /// input files. If the job can't be sent, fails without a callback.
    [[nodiscard]] virtual base::Result<void> go_on(const Launch& launch, JobCallbacks callbacks) = 0;
    /// Makes an idle worker exit. Calls `gone` when none of its processes is left, possibly before dismiss()
    /// returns. `gone` may destroy this object.
    virtual void dismiss(std::function<void()> gone) = 0;
};

class Launcher {
  public:
    virtual ~Launcher() = default;
    /// Writes the job's files and starts a worker for it. Duplicates the descriptors in `inputs`.
    [[nodiscard]] virtual base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) = 0;
    /// Watches the worker of a job that a previous daemon started. If it exited long ago, `ended` is called
    /// all the same. A recovered worker is never idle.
    [[nodiscard]] virtual base::Result<std::unique_ptr<Worker>> recover(const Launch& launch,
                                                                        JobCallbacks callbacks) = 0;
    /// The user that workers with this sandbox run as, and that owns their job and staging directories.
    struct Owner {
        uid_t uid;
        gid_t gid;
    };
    [[nodiscard]] virtual base::Result<Owner> owner(core::Sandbox sandbox) const = 0;
};

} // namespace gpuhost::host
