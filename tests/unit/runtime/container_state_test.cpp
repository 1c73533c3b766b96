// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/container_state.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;

std::string state_of(const std::string& bundle) {
    return R"({"ociVersion":"1.0.2","id":"a","status":"created","pid":1,"bundle":")" + bundle + "\"}";
}

TEST(ContainerState, TakesAnAbsoluteRootOfTheBundle) {
    const tests::TempDir dir;
    dir.write("config.json", R"({"ociVersion":"1.0.2","root":{"path":"/srv/merged","readonly":true}})");
    EXPECT_EQ(container_root_path(state_of(dir.path())).value(), "/srv/merged");
}

TEST(ContainerState, TakesARelativeRootFromTheBundle) {
    const tests::TempDir dir;
    dir.write("config.json", R"({"root":{"path":"rootfs"}})");
    EXPECT_EQ(container_root_path(state_of(dir.path())).value(), dir.path("rootfs"));
}

TEST(ContainerState, ARootOfTheStateNeedsNoBundle) {
    EXPECT_EQ(container_root_path(R"({"bundle":"/nowhere","root":"/srv/merged"})").value(), "/srv/merged");
}

TEST(ContainerState, RefusesWhatIsNoState) {
    const char* const wrong[] = {
        "", "[]", "{", "null", "{}", R"({"bundle":7})", R"({"bundle":"relative"})", R"({"root":"x"})"};
    for (const char* text : wrong)
        EXPECT_EQ(container_root_path(text).error().code, Errc::BadContent) << text;
}

TEST(ContainerState, RefusesABundleWithoutARoot) {
    const tests::TempDir dir;
    const auto code = [&](std::string_view config) {
        dir.write("config.json", config);
        return container_root_path(state_of(dir.path())).error().code;
    };
    EXPECT_EQ(code("{}"), Errc::BadContent);
    EXPECT_EQ(code(R"({"root":{"path":""}})"), Errc::BadContent);
    EXPECT_EQ(code(R"({"root":{"path":["/"]}})"), Errc::BadContent);
    EXPECT_EQ(code(R"({"root":"/"})"), Errc::BadContent);
    EXPECT_EQ(code(std::string(max_config + 1, ' ')), Errc::BadContent);
    EXPECT_EQ(container_root_path(state_of(dir.path("none"))).error().code, Errc::NotFound);
}

} // namespace
} // namespace gpuhost::runtime
