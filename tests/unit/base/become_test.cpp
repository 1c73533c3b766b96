// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/become.hpp"

#include <functional>

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::base {
namespace {

/// Returns the predicate's result in a child process, which may change its user.
bool holds_in_child(const std::function<bool()>& condition) {
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(condition() ? 0 : 1);
    int status = -1;
    return ::waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(Become, DropsRootPermanently) {
    const passwd* const nobody = ::getpwnam("nobody");
    if (::geteuid() != 0 || nobody == nullptr)
        GTEST_SKIP() << "needs root, and the user nobody";
    const uid_t uid = nobody->pw_uid;
    EXPECT_TRUE(holds_in_child([uid] {
        return become("nobody") && ::getuid() == uid && ::geteuid() == uid && ::getegid() != 0 &&
               ::setuid(0) != 0 && ::setgid(0) != 0;
    }));
}

TEST(Become, UnknownUserIsNotFound) {
    const auto became = become("no-such-user-here");
    ASSERT_FALSE(became);
    EXPECT_EQ(became.error().code, Errc::NotFound);
    EXPECT_NE(became.error().message.find("no-such-user-here"), std::string::npos);
}

} // namespace
} // namespace gpuhost::base
