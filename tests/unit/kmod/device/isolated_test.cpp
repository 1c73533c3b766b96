// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "kmod/device/isolated.hpp"

#include <csignal>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using base::Result;

TEST(RunIsolated, AnswersFromAnotherProcess) {
    const auto answer = run_isolated("it", []() -> Result<Json> { return Json{{"pid", ::getpid()}}; });
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_NE(base::int_or(*answer, "pid", ::getpid()), ::getpid());
}

TEST(RunIsolated, ErrorIsPassedUnchanged) {
    const auto failed =
        run_isolated("it", []() -> Result<Json> { return base::fail(Errc::Busy, "not yet", "wait"); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::Busy);
    EXPECT_EQ(failed.error().message, "not yet");
    EXPECT_EQ(failed.error().hint, "wait");
    const auto threw = run_isolated("it", []() -> Result<Json> { throw std::runtime_error("boom"); });
    ASSERT_FALSE(threw);
    EXPECT_NE(threw.error().message.find("boom"), std::string::npos);
}

TEST(RunIsolated, CrashIsAnErrorWithTheName) {
    const auto killed = run_isolated("CUDA", []() -> Result<Json> {
        (void)::kill(::getpid(), SIGKILL);
        return Json();
    });
    ASSERT_FALSE(killed);
    EXPECT_EQ(killed.error().message, "CUDA crashed: Killed");
    const auto ended = run_isolated("CUDA", []() -> Result<Json> { ::_exit(7); });
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().message, "CUDA crashed: exit status 7");
}

TEST(RunIsolated, TooLongAnswerFailsWithoutBlocking) {
    const auto answer = run_isolated("it", []() -> Result<Json> {
        return Json{{"long", std::string(4U << 20, 'x')}};
    });
    EXPECT_FALSE(answer);
}

TEST(RunIsolated, ThreadsEndWithTheAnswer) {
    const auto answer = run_isolated("it", []() -> Result<Json> {
        std::thread([] {
            for (;;)
                ::pause();
        }).detach();
        return Json{{"left", "a thread"}};
    });
    EXPECT_TRUE(answer);
}

} // namespace
} // namespace gpuhost::kmod
