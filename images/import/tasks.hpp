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

    /// Runs at most `threads` tasks at once.
    explicit Tasks(unsigned threads) : free_(static_cast<std::ptrdiff_t>(threads)) {}
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;
    /// Waits for running tasks.
    ~Tasks() = default;

    /// Waits until one more task may run, then starts it. Runs it on the calling thread if no thread can be
    /// created. The objects that the task refers to must live until finish().
    void add(const Task& task);
    /// Reports whether a task or the caller has failed. Running tasks should then end soon.
    [[nodiscard]] bool failed() const { return has_failed_; }
    void fail(base::Error error);
    /// Waits for all tasks. Returns the first error.
    [[nodiscard]] base::Result<void> finish();

  private:
    void run(const Task& task);
    void forget_finished();

    std::counting_semaphore<> free_;
    std::atomic<bool> has_failed_ = false;
    std::mutex mutex_;
    std::optional<base::Error> error_;       ///< under mutex_
    std::vector<std::future<void>> running_; ///< last: its destructor waits for threads that use the others
};

} // namespace gpuhost::images
