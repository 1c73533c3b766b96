// SPDX-License-Identifier: Apache-2.0
// Waits for an action of another process, with a time limit.
#pragma once

#include <chrono>
#include <thread>

namespace gpuhost::tests {

/// Returns true if the condition becomes true within 20 seconds.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

} // namespace gpuhost::tests
