// SPDX-License-Identifier: Apache-2.0
// Starts workers: the only interface between the daemon and the processes that do its work.
//
// Workers are transient units if systemd is the init (launcher_systemd), direct children for --root, rescue
// and tests (launcher_direct). A worker outlives its daemon, and the next daemon adopts it, except with
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
    std::vector<std::string> writable; ///< besides the sandbox's own directories
    std::chrono::seconds deadline{60};
    /// Time for the jobs that may follow in the same worker; zero if it ends with this one.
    std::chrono::seconds more{0};
};

struct JobEnd {
    enum class How {
        Reported,   ///< with a result from the worker, or Timeout after its deadline
        Died,       ///< before a result; the error is Interrupted, and the phase may run again
        NotStarted, ///< the worker never ran; the result has the reason
    };
    core::JobResult result;
    How how = How::Reported;
    bool rests = false; ///< the worker is idle: it waits for go_on() or dismiss()
};

struct JobCallbacks {
    std::function<void(const core::JobProgress&)> progress;
    /// Called once, when no process of the worker is left that can be killed, or when the worker is idle.
    /// Never called before start(), recover() or go_on() has returned.
    std::function<void(JobEnd)> ended;
};

/// A running worker. Dropping it stops the watching, not the worker, which then gets no other job.
class Worker {
  public:
    virtual ~Worker() = default;
    virtual void kill() = 0; ///< sends SIGKILL to all of its processes; `ended` follows
    /// Returns the job that it was started with, which names its unit.
    [[nodiscard]] virtual std::string job() const = 0;
    /// Returns true if it is idle and has time for a job with this deadline.
    [[nodiscard]] virtual bool can_go_on(std::chrono::seconds deadline) const = 0;
    /// Starts another job, if can_go_on(). The job must fit the sandbox and take no inputs. Fails, without a
    /// callback, if the job can't be sent.
    [[nodiscard]] virtual base::Result<void> go_on(const Launch& launch, JobCallbacks callbacks) = 0;
    /// Ends an idle worker. `gone` is called, possibly at once, when none of its processes is left; it may
    /// drop the worker.
    virtual void dismiss(std::function<void()> gone) = 0;
};

class Launcher {
  public:
    virtual ~Launcher() = default;
    /// Writes the request and starts a worker. The inputs are duplicated.
    [[nodiscard]] virtual base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) = 0;
    /// Adopts the worker of a job that a previous daemon started. `ended` is also called if it exited long
    /// ago. An recovered worker is never idle.
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
