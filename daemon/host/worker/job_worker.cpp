// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/job_worker.hpp"

#include "daemon/host/worker/worker_socket.hpp"

#include <utility>

namespace gpuhost::host {

using base::Errc;
using base::Error;
using base::Result;

Result<std::unique_ptr<JobWatch>> JobWorker::make_watch(const Launch& launch, JobCallbacks callbacks,
                                                        bool must_have_files) {
    callbacks.ended = [this, ended = std::move(callbacks.ended)](JobEnd end) {
        rests_ = end.rests;
        if (rests_)
            clear_deadline();
        ended(std::move(end));
    };
    const auto when = launch.more.count() > 0 ? JobWatch::Until::Result : JobWatch::Until::ProcessEnd;
    auto made = std::make_unique<JobWatch>(
        std::move(callbacks), [this] { kill(); }, when);
    if (auto started = made->start(event_, root_, launch.request.job); !started && must_have_files)
        return base::fail(std::move(started).error());
    return made;
}

void JobWorker::begin(const Launch& launch, std::unique_ptr<JobWatch> watch) {
    watch_ = std::move(watch);
    rests_ = false;
    if (launch.more.count() == 0)
        socket_.reset();
}

Result<void> JobWorker::follow(const Launch& launch, JobCallbacks callbacks, bool must_have_files) {
    GPUHOST_TRY(made, make_watch(launch, std::move(callbacks), must_have_files));
    begin(launch, std::move(made));
    return {};
}

void JobWorker::kill() {
    killed_ = true;
    kill_processes();
}

bool JobWorker::can_go_on(std::chrono::seconds deadline) const {
    return rests_ && !gone_ && !killed_ && socket_ && has_time_for(deadline);
}

Result<void> JobWorker::go_on(const Launch& launch, JobCallbacks callbacks) {
    if (!can_go_on(launch.deadline))
        return base::fail(Errc::Interrupted, "worker '" + job_ + "' can't run another job");
    GPUHOST_CHECK(prepare_next_job(root_, launch.request, job_));
    GPUHOST_TRY(made, make_watch(launch, std::move(callbacks), true));
    GPUHOST_CHECK(send_job(socket_.get(), launch.request.job));
    begin(launch, std::move(made));
    set_deadline(launch.deadline);
    return {};
}

void JobWorker::dismiss(std::function<void()> gone) {
    constexpr std::chrono::seconds to_end{10};
    socket_.reset();
    if (gone_) {
        gone(); // may destroy this
        return;
    }
    when_gone_ = std::move(gone);
    set_deadline(to_end);
}

void JobWorker::over(Error died) {
    clear_deadline();
    if (!rests_) {
        watch_->end(std::move(died)); // may destroy this
        return;
    }
    gone_ = true;
    if (const auto gone = std::exchange(when_gone_, nullptr))
        gone(); // may destroy this
}

void JobWorker::not_started(Error why) {
    clear_deadline();
    watch_->not_started(std::move(why)); // may destroy this
}

} // namespace gpuhost::host
