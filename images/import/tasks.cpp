// SPDX-License-Identifier: Apache-2.0
#include "images/import/tasks.hpp"

#include <chrono>
#include <exception>
#include <system_error>

namespace gpuhost::images {

void Tasks::run(const Task& task) {
    try {
        if (auto done = task(); !done)
            fail(std::move(done).error());
    } catch (const std::exception& error) { // caught here, because no caller reads the future
        fail({base::Errc::Failed, std::string("a thread has failed: ") + error.what(), {}});
    }
    free_.release();
}

void Tasks::forget_finished() {
    std::erase_if(running_, [](const std::future<void>& one) {
        return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
}

void Tasks::add(const Task& task) {
    free_.acquire();
    forget_finished();
    try {
        running_.push_back(std::async(std::launch::async, [this, task] { run(task); }));
        // No thread could be created, because of TasksMax= in the unit or a limit of the system.
    } catch (const std::system_error&) {
        run(task);
    }
}

void Tasks::fail(base::Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_)
        error_ = std::move(error);
    has_failed_ = true;
}

base::Result<void> Tasks::finish() {
    running_.clear();
    const std::lock_guard lock(mutex_);
    return error_ ? base::Result<void>(base::fail(*error_)) : base::Result<void>();
}

} // namespace gpuhost::images
