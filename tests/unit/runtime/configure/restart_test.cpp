// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/restart.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;

RuntimeState running(const std::string& socket) {
    RuntimeState state;
    state.instance.name = "crio";
    state.instance.kind = RuntimeKind::Crio;
    state.instance.unit = "crio.service";
    state.instance.pid = 70;
    state.instance.socket = socket;
    return state;
}

// The code is Timeout for each reason, because only an undo that fails with it is repeated.
TEST(AskRuntime, RefusedSocketIsTimeoutWithItsReason) {
    const tests::TempDir host;
    const auto missing = ask_runtime(host.root(), running("/run/crio.sock"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Errc::Timeout);
    EXPECT_EQ(missing.error().message, "/run/crio.sock: No such file or directory");

    host.write("run/crio.sock", "");
    const auto deaf = ask_runtime(host.root(), running("/run/crio.sock"));
    ASSERT_FALSE(deaf);
    EXPECT_EQ(deaf.error().code, Errc::Timeout);
    EXPECT_EQ(deaf.error().message, "/run/crio.sock: Connection refused");

    const std::string path = "/run/" + std::string(200, 'x');
    const auto longer = ask_runtime(host.root(), running(path));
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error().message, path + ": File name too long");
}

TEST(AskRuntime, StoppedRuntimeIsFailed) {
    const tests::TempDir host;
    RuntimeState state = running("");
    EXPECT_TRUE(ask_runtime(host.root(), state));
    state.instance.pid = 0;
    const auto stopped = ask_runtime(host.root(), state);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Errc::Failed);
}

} // namespace
} // namespace gpuhost::runtime
