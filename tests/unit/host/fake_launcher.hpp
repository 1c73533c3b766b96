// SPDX-License-Identifier: Apache-2.0
// A launcher whose workers do what the test requests, when it requests it.
#pragma once

#include "daemon/host/worker/launcher.hpp"

#include <unistd.h>

namespace gpuhost::host::tests {

inline core::Subject person() {
    core::Subject subject;
    subject.command = "person";
    return subject;
}

class FakeLauncher : public Launcher {
  public:
    struct Job {
        Launch launch;
        JobCallbacks callbacks;
        std::size_t inputs = 0;
        bool recovered = false;
        bool killed = false;
        bool watched = true;
        bool followed = false;  ///< ran in the worker of the previous job
        bool dismissed = false; ///< its worker was dismissed after it
    };

    [[nodiscard]] base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) override {
        if (refusals > 0) {
            --refusals;
            return base::fail(base::Errc::NoSpace, "no room in /run");
        }
        return add({launch, std::move(callbacks), inputs.size()});
    }
    [[nodiscard]] base::Result<std::unique_ptr<Worker>> recover(const Launch& launch,
                                                                JobCallbacks callbacks) override {
        if (refusals > 0) {
            --refusals;
            return base::fail(base::Errc::NoSpace, "no watch is left");
        }
        return add({launch, std::move(callbacks), 0, true});
    }
    [[nodiscard]] base::Result<Owner> owner(core::Sandbox) const override {
        return Owner{::geteuid(), ::getegid()};
    }

    [[nodiscard]] Job& last() { return *jobs.back(); }
    void end(core::JobResult result = {}, JobEnd::How how = JobEnd::How::Reported) {
        const auto ended = last().callbacks.ended;
        ended({std::move(result), how, false});
    }
    /// Ends the job; the worker stays idle.
    void rest(core::JobResult result = {}) {
        const auto ended = last().callbacks.ended;
        ended({std::move(result), JobEnd::How::Reported, true});
    }
    /// Ends an idle worker.
    void gone() {
        worker_gone = true;
        if (const auto tell = std::exchange(when_gone, nullptr))
            tell();
    }
    void fail(base::Errc code, std::string text = "it broke") {
        core::JobResult result;
        result.error = base::Error{code, std::move(text), {}};
        end(std::move(result));
    }
    void die() {
        core::JobResult result;
        result.error = base::Error{base::Errc::Interrupted, "it died", {}};
        end(std::move(result), JobEnd::How::Died);
    }
    /// Refuses the start, as systemd does during shutdown.
    void refuse() {
        core::JobResult result;
        result.error = base::Error{base::Errc::Failed, "the transaction is destructive", {}};
        end(std::move(result), JobEnd::How::NotStarted);
    }

    std::vector<std::shared_ptr<Job>> jobs;
    int refusals = 0; ///< number of the next starts and recoveries to refuse
    bool worker_gone = false;
    bool deaf = false;               ///< the next job cannot be sent to an idle worker
    std::function<void()> when_gone; ///< called when the dismissed worker is gone

  private:
    struct FakeWorker : Worker {
        FakeWorker(FakeLauncher& l, std::shared_ptr<Job> j)
            : launcher(l), task(std::move(j)), first(task->launch.request.job) {}
        FakeWorker(const FakeWorker&) = delete;
        FakeWorker& operator=(const FakeWorker&) = delete;
        ~FakeWorker() override { task->watched = false; }
        void kill() override { task->killed = true; }
        [[nodiscard]] std::string job() const override { return first; }
        [[nodiscard]] bool can_go_on(std::chrono::seconds) const override {
            return !launcher.worker_gone && !task->killed;
        }
        base::Result<void> go_on(const Launch& launch, JobCallbacks callbacks) override {
            if (std::exchange(launcher.deaf, false))
                return base::fail(base::Errc::NoSpace, "no room in /run");
            task = std::make_shared<Job>(Job{launch, std::move(callbacks), 0});
            task->followed = true;
            launcher.jobs.push_back(task);
            return {};
        }
        void dismiss(std::function<void()> gone) override {
            task->dismissed = true;
            launcher.when_gone = std::move(gone);
            if (launcher.worker_gone)
                launcher.gone();
        }
        FakeLauncher& launcher;
        std::shared_ptr<Job> task;
        std::string first;
    };
    std::unique_ptr<Worker> add(Job job) {
        jobs.push_back(std::make_shared<Job>(std::move(job)));
        worker_gone = false;
        return std::make_unique<FakeWorker>(*this, jobs.back());
    }
};

} // namespace gpuhost::host::tests
