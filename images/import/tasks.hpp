// SPDX-License-Identifier: Apache-2.0
// Some pieces of work at once, each on a thread of its own.
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

    /// At most so many at once.
    explicit Tasks(unsigned threads) : free_(static_cast<std::ptrdiff_t>(threads)) {}
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;
    /// Waits for those that run.
    ~Tasks() = default;

    /// Waits until one more may run. What it refers to must live until finish(). Runs here where no thread is to be had.
    void add(const Task& task);
    /// One of them, or the caller, has failed: what runs should end soon.
    [[nodiscard]] bool failed() const { return has_failed_; }
    void fail(base::Error error);
    /// Waits for all. The first error.
    [[nodiscard]] base::Result<void> finish();

  private:
    void run(const Task& task);
    void forget_finished();

    std::counting_semaphore<> free_;
    std::atomic<bool> has_failed_ = false;
    std::mutex mutex_;
    std::optional<base::Error> error_;       ///< under mutex_
    std::vector<std::future<void>> running_; ///< last: its destructor waits for who uses the others
};

} // namespace gpuhost::images
