// SPDX-License-Identifier: Apache-2.0
// The part of Runner that runs the preflight of one step without an operation.
#include "daemon/base/clock.hpp"
#include "daemon/host/transaction/runner.hpp"

#include <algorithm>

namespace gpuhost::host {

using base::Errc;
using base::Result;
using std::chrono::steady_clock;

namespace {

/// Shorter than the timeout of a D-Bus call, so that the caller receives the error.
constexpr std::chrono::seconds check_deadline{20};
constexpr std::chrono::seconds check_pause{1};

} // namespace

void Runner::check(core::Step step, std::function<void(const core::JobResult&)> done) {
    const auto pause = std::max(check_from_ - steady_clock::now(), steady_clock::duration(0));
    auto timer = event_.after(std::chrono::ceil<std::chrono::microseconds>(pause),
                              [this, step = std::move(step), done = std::move(done)] {
                                  if (const auto started = start_check(step, done); !started)
                                      done({started.error(), {}, {}});
                              });
    if (timer)
        check_timer_ = *std::move(timer);
    else
        event_.exit(EXIT_FAILURE);
}

/// Starts the worker of check(). Its job belongs to transaction 0, which never exists. If this daemon dies,
/// remove_leftovers() therefore removes the job's files. The job's name contains the time, so that it differs
/// from the name of an earlier job whose worker may still run.
Result<void> Runner::start_check(const core::Step& step,
                                 const std::function<void(const core::JobResult&)>& done) {
    const core::StepKind* const kind = kinds_.find(step.kind);
    if (offline_ || kind == nullptr)
        return base::fail(Errc::Unsupported,
                          offline_ ? "this system is offline" : "unknown step kind '" + step.kind + "'");
    Launch launch;
    launch.request.job = "0-" + std::to_string(base::monotonic_us()) + "-1";
    launch.request.steps = {step};
    launch.request.settings = settings_;
    launch.request.boot_id = boot_id_;
    launch.request.staging = core::staging_of(0);
    launch.sandbox = kind->sandbox;
    launch.deadline = check_deadline;
    check_from_ = steady_clock::now() + check_pause;
    const auto ended = [this, done, files = core::job_directory(launch.request.job)](const JobEnd& end) {
        checker_.reset();
        sweeper_.remove(files);
        done(end.result);
    };
    auto worker = launcher_.start(launch, {}, {{}, ended});
    if (!worker) {
        sweeper_.remove(core::job_directory(launch.request.job));
        return base::fail(worker.error().context("starting a worker"));
    }
    checker_ = *std::move(worker);
    return {};
}

} // namespace gpuhost::host
