// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/event.hpp"

#include <array>
#include <csignal>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace gpuhost::host {
namespace {

using base::Result;

class EventTest : public testing::Test {
  protected:
    /// Runs the loop with a source. Returns its exit status.
    int run(Result<Source> source) {
        if (!source)
            return -1;
        const auto late = event.after(std::chrono::seconds(10), [this] { event.exit(0); });
        return late ? event.run().value_or(-1) : -1;
    }
    static void boom() { throw std::runtime_error("boom"); }

    Event event = *Event::create();
};

TEST_F(EventTest, ExceptionOfATimerEndsTheLoop) {
    EXPECT_EQ(run(event.after(std::chrono::microseconds(1), boom)), EXIT_FAILURE);
}

TEST_F(EventTest, ExceptionOfADescriptorEndsTheLoop) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const base::UniqueFd reader(pipe[0]);
    base::UniqueFd(pipe[1]).reset();
    EXPECT_EQ(run(event.on_io(reader.get(), EPOLLHUP, boom)), EXIT_FAILURE);
}

TEST_F(EventTest, ExceptionOfASignalEndsTheLoop) {
    auto source = event.on_signal(SIGUSR2, boom);
    ASSERT_EQ(::raise(SIGUSR2), 0);
    EXPECT_EQ(run(std::move(source)), EXIT_FAILURE);
}

TEST_F(EventTest, CallbackMayDropItsSourceAndThrow) {
    Source own;
    auto source = event.soon([&own] {
        own.reset();
        boom();
    });
    ASSERT_TRUE(source);
    own = *std::move(source);
    EXPECT_EQ(run(event.after(std::chrono::seconds(20), [] {})), EXIT_FAILURE);
}

} // namespace
} // namespace gpuhost::host
