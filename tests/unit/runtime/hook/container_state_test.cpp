// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/container_state.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;

std::string state_of(const std::string& bundle) {
    return R"({"ociVersion":"1.0.2","id":"a","status":"created","pid":1,"bundle":")" + bundle + "\"}";
}

TEST(ContainerState, AbsoluteRootOfTheBundleIsUsed) {
    const tests::TempDir dir;
    dir.write("config.json", R"({"ociVersion":"1.0.2","root":{"path":"/srv/merged"}})");
    EXPECT_EQ(container_root(state_of(dir.path()))->path, "/srv/merged");
}

TEST(ContainerState, RelativeRootStartsAtTheBundle) {
    const tests::TempDir dir;
    dir.write("config.json", R"({"root":{"path":"rootfs"}})");
    EXPECT_EQ(container_root(state_of(dir.path()))->path, dir.path("rootfs"));
}

TEST(ContainerState, RootInTheStateNeedsNoBundle) {
    const auto root = container_root(R"({"bundle":"/nowhere","root":"/srv/merged"})");
    EXPECT_EQ(root->path, "/srv/merged");
    EXPECT_FALSE(root->read_only);
}

TEST(ContainerState, ReadOnlyIsReadFromTheBundle) {
    const tests::TempDir dir;
    const auto read_only = [&](const std::string& member, const std::string& state) {
        dir.write("config.json", R"({"root":{"path":"rootfs")" + member + "}}");
        return container_root(state)->read_only;
    };
    const std::string of_crun = R"({"bundle":")" + dir.path() + R"(","root":"/srv/merged"})";
    for (const std::string& state : {state_of(dir.path()), of_crun}) {
        EXPECT_TRUE(read_only(R"(,"readonly":true)", state));
        for (const char* member : {"", R"(,"readonly":false)", R"(,"readonly":"true")", R"(,"readonly":1)"})
            EXPECT_FALSE(read_only(member, state)) << member;
    }
}

TEST(ContainerState, RefusesInvalidStates) {
    const char* const wrong[] = {
        "", "[]", "{", "null", "{}", R"({"bundle":7})", R"({"bundle":"relative"})", R"({"root":"x"})"};
    for (const char* text : wrong)
        EXPECT_EQ(container_root(text).error().code, Errc::BadContent) << text;
}

TEST(ContainerState, RefusesABundleWithoutARoot) {
    const tests::TempDir dir;
    const auto code = [&](std::string_view config) {
        dir.write("config.json", config);
        return container_root(state_of(dir.path())).error().code;
    };
    EXPECT_EQ(code("{}"), Errc::BadContent);
    EXPECT_EQ(code(R"({"root":{"path":""}})"), Errc::BadContent);
    EXPECT_EQ(code(R"({"root":{"path":["/"]}})"), Errc::BadContent);
    EXPECT_EQ(code(R"({"root":"/"})"), Errc::BadContent);
    EXPECT_EQ(code(std::string(max_config + 1, ' ')), Errc::BadContent);
    EXPECT_EQ(container_root(state_of(dir.path("none"))).error().code, Errc::NotFound);
}

} // namespace
} // namespace gpuhost::runtime
