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
    std::chrono::seconds deadline{60}; ///< of the first step
    std::chrono::seconds more{0};      ///< sum of the deadlines of the job's later steps
    /// Number of steps of this job whose ends are recorded already; only for recover(). `request` has the
    /// steps after those.
    std::size_t recorded = 0;
};

struct JobEnd {
    enum class How {
        Reported, ///< the worker wrote a result, or was killed after its deadline (Timeout)
        /// The worker died without a result. The error is Interrupted, and the phase may run again.
        Died,
        /// The worker violated the protocol and was killed. Any later step of its job may have begun.
        Violated,
        NotStarted, ///< the worker never ran; the result has the reason
    };
    core::JobResult result;
    How how = How::Reported;
};

struct JobCallbacks {
    std::function<void(const core::JobProgress&)> progress;
    /// Called once, when no process of the worker is left that can be killed. Gets the end of the last step
    /// that the worker began. Never called before start() or recover() has returned.
    std::function<void(JobEnd)> ended;
    /// Called when the worker has begun another step. Gets the result of the step before, which succeeded.
    /// Must not destroy the worker. If this callback is empty, the steps of the worker are not told apart.
    std::function<void(core::JobResult)> step = {};
};

/// A running worker. The destructor ends the worker's stdin, but does not kill the worker and calls no
/// callback.
class Worker {
  public:
    virtual ~Worker() = default;
    virtual void kill() = 0; ///< sends SIGKILL to all of its processes; `ended` follows
    /// Ends the worker's stdin, so that the worker begins no other step. The stdin of a recovered worker has
    /// ended already.
    virtual void stop() = 0;
    /// Sets the deadline of the present step, counted from now. After the deadline the worker is killed.
    virtual void set_deadline(std::chrono::seconds deadline) = 0;
};

class Launcher {
  public:
    virtual ~Launcher() = default;
    /// Writes the job's files and starts a worker for it. Duplicates the descriptors in `inputs`.
    [[nodiscard]] virtual base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) = 0;
    /// Watches the worker of a job that a previous daemon started. Calls `ended` even if the worker exited
    /// long ago. May call `progress` and `step` before it returns.
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
