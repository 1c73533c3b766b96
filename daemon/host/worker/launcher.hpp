// SPDX-License-Identifier: Apache-2.0
// Starts workers: the one seam between the daemon and what does its work.
//
// Transient units where systemd is the init (launcher_systemd), direct children for --root, rescue and tests
// (launcher_direct). Either way a worker outlives its daemon, and the next daemon adopts it.
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
    std::vector<std::string> writable; ///< besides its own directories
    std::chrono::seconds deadline{60};
    /// What the jobs that may follow in the same worker have of time; zero: it ends with this one.
    std::chrono::seconds more{0};
};

struct JobEnd {
    enum class How {
        Reported,   ///< with the result that it wrote, or Timeout after its deadline
        Died,       ///< half way; the result is Interrupted. Nothing speaks against running the phase again
        NotStarted, ///< it was never there; the result says why
    };
    core::JobResult result;
    How how = How::Reported;
    bool rests = false; ///< the worker waits for its next job, or to be dismissed
};

struct JobCallbacks {
    std::function<void(const core::JobProgress&)> progress;
    /// Once, when no process of the worker is left that can be killed, or when it rests. Never before start(), adopt() or
    /// go_on() has returned.
    std::function<void(JobEnd)> ended;
};

/// A worker at work. Dropping it stops the watching, not the work; it does no other job then.
class Worker {
  public:
    virtual ~Worker() = default;
    virtual void kill() = 0; ///< SIGKILL to all of its processes; `ended` follows
    /// The one that it was started with, which its unit is named for.
    [[nodiscard]] virtual std::string job() const = 0;
    /// Whether it still rests, and has the time for a job with this deadline.
    [[nodiscard]] virtual bool can_go_on(std::chrono::seconds deadline) const = 0;
    /// Where it can: another job, which its sandbox fits and which takes no inputs. Fails, and calls nobody, where it can't be
    /// told.
    [[nodiscard]] virtual base::Result<void> go_on(const Launch& launch, JobCallbacks callbacks) = 0;
    /// Where it rests: no job follows. `gone` is called, maybe at once, when no process of it is left; it may drop the worker.
    virtual void dismiss(std::function<void()> gone) = 0;
};

class Launcher {
  public:
    virtual ~Launcher() = default;
    /// Writes the request and starts. The inputs are duplicated.
    [[nodiscard]] virtual base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) = 0;
    /// The same for a job that a daemon before this one started; `ended` comes also when it is long gone. It does not rest.
    [[nodiscard]] virtual base::Result<std::unique_ptr<Worker>> adopt(const Launch& launch,
                                                                      JobCallbacks callbacks) = 0;
    /// Who workers with this sandbox run as: owner of their job and staging directories.
    struct Owner {
        uid_t uid;
        gid_t gid;
    };
    [[nodiscard]] virtual base::Result<Owner> owner(core::Sandbox sandbox) const = 0;
};

} // namespace gpuhost::host
