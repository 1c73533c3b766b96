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
        bool stopped = false;
        std::chrono::seconds deadline{0}; ///< of the present step, if it is not the first
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
        for (; steps_at_recovery > 0; --steps_at_recovery)
            callbacks.step({});
        return add({launch, std::move(callbacks), 0, true});
    }
    [[nodiscard]] base::Result<Owner> owner(core::Sandbox) const override {
        return Owner{::geteuid(), ::getegid()};
    }

    [[nodiscard]] Job& last() { return *jobs.back(); }
    void end(core::JobResult result = {}, JobEnd::How how = JobEnd::How::Reported) {
        const auto ended = last().callbacks.ended;
        ended({std::move(result), how});
    }
    /// Ends a step; the worker begins the next one.
    void step(core::JobResult result = {}) { last().callbacks.step(std::move(result)); }
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
    int refusals = 0;          ///< number of the next starts and recoveries to refuse
    int steps_at_recovery = 0; ///< number of steps whose ends the next recovery reports

  private:
    struct FakeWorker : Worker {
        explicit FakeWorker(std::shared_ptr<Job> j) : task(std::move(j)) {}
        FakeWorker(const FakeWorker&) = delete;
        FakeWorker& operator=(const FakeWorker&) = delete;
        ~FakeWorker() override { task->watched = false; }
        void kill() override { task->killed = true; }
        void stop() override { task->stopped = true; }
        void set_deadline(std::chrono::seconds deadline) override { task->deadline = deadline; }
        std::shared_ptr<Job> task;
    };
    std::unique_ptr<Worker> add(Job job) {
        jobs.push_back(std::make_shared<Job>(std::move(job)));
        return std::make_unique<FakeWorker>(jobs.back());
    }
};

} // namespace gpuhost::host::tests
