// SPDX-License-Identifier: Apache-2.0
// A wait for something that another process does, with an end.
#pragma once

#include <chrono>
#include <thread>

namespace gpuhost::tests {

/// Whether the condition comes true within 20 seconds.
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
