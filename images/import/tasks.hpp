// SPDX-License-Identifier: Apache-2.0
// Runs pieces of work concurrently, each on its own thread.
#pragma once

#include "daemon/base/result.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <semaphore>
#include <vector>

namespace gpuhost::images {

class Tasks {
  public:
    using Task = std::function<base::Result<void>()>;

    /// The object runs at most `threads` tasks at the same time.
    explicit Tasks(unsigned threads) : free_(static_cast<std::ptrdiff_t>(threads)) {}
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;
    /// Waits until all running tasks have ended.
    ~Tasks() = default;

    /// Starts a task on a new thread. Waits first until fewer than `threads` tasks run. Runs the task on the
    /// calling thread if no thread can be created. Objects that the task refers to must exist until finish()
    /// returns.
    void add(const Task& task);
    /// Reports whether a task has failed, or fail() was called. Tasks check this often and return early.
    [[nodiscard]] bool failed() const { return has_failed_; }
    /// Records an error of the caller, as if a task had failed with it.
    void fail(base::Error error);
    /// Waits until all tasks have ended. Fails with the first error.
    [[nodiscard]] base::Result<void> finish();

  private:
    void run(const Task& task);
    void forget_finished();

    std::counting_semaphore<> free_; ///< number of tasks that may still be started
    std::atomic<bool> has_failed_ = false;
    std::mutex mutex_;
    std::optional<base::Error> error_; ///< guarded by mutex_
    /// The last member, because its destructor waits for threads that use the other members.
    std::vector<std::future<void>> running_;
};

} // namespace gpuhost::images
