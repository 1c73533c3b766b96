// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/reference.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

const std::string hex(64, 'a');

std::string normal(std::string_view text) {
    const auto reference = parse_reference(text);
    return reference ? reference->text() : "refused";
}

TEST(ReferenceTest, NormalizesNamesAsContainerd) {
    const std::pair<std::string, std::string> rows[] = {
        {"busybox", "docker.io/library/busybox:latest"},
        {"busybox:1.36", "docker.io/library/busybox:1.36"},
        {"library/busybox", "docker.io/library/busybox:latest"},
        {"team/app:v1", "docker.io/team/app:v1"},
        {"docker.io/busybox", "docker.io/library/busybox:latest"},
        {"index.docker.io/library/busybox", "docker.io/library/busybox:latest"},
        {"localhost/app", "localhost/app:latest"},
        {"localhost:5000/app:x", "localhost:5000/app:x"},
        {"registry.example/a/b/c:v1.2-rc_3", "registry.example/a/b/c:v1.2-rc_3"},
        {"registry.example:5000/app", "registry.example:5000/app:latest"},
        {"Registry/app", "Registry/app:latest"},
        {"[::1]:5000/app", "[::1]:5000/app:latest"},
        {"[fe80::1]/app:x", "[fe80::1]/app:x"},
        {"nvcr.io/nvidia/k8s/dcgm-exporter:4.1", "nvcr.io/nvidia/k8s/dcgm-exporter:4.1"},
        {"app@sha256:" + hex, "docker.io/library/app@sha256:" + hex},
        {"r.io/app:v1@sha256:" + hex, "r.io/app@sha256:" + hex},
        {"a--b__c.d", "docker.io/library/a--b__c.d:latest"},
    };
    for (const auto& [text, wanted] : rows)
        EXPECT_EQ(normal(text), wanted) << text;
    EXPECT_EQ(normal(normal("team/app:v1")), "docker.io/team/app:v1");
}

TEST(ReferenceTest, InvalidNamesAreRefused) {
    for (const std::string& text : {std::string(),
                                    std::string(":v1"),
                                    std::string("/app"),
                                    std::string("app/"),
                                    std::string("a//b"),
                                    std::string("App"),
                                    std::string("a..b"),
                                    std::string("a___b"),
                                    std::string("-a"),
                                    std::string("a-"),
                                    std::string("r.io/../etc/passwd"),
                                    std::string("r.io/a:"),
                                    std::string("r.io/a:.x"),
                                    std::string("r.io/a:") + std::string(129, 'x'),
                                    std::string("r.io:99999/a"),
                                    std::string("r.io:x/a"),
                                    std::string("-r.io/a"),
                                    std::string("r..io/a"),
                                    std::string("[::1/a"),
                                    std::string("a b"),
                                    std::string("a\0b", 3),
                                    std::string("a@sha256:") + std::string(63, 'a'),
                                    std::string("a@sha256:") + std::string(64, 'A'),
                                    std::string("a@sha512:") + std::string(128, 'a'),
                                    "a@sha256:" + hex + "/../x",
                                    std::string("a@"),
                                    "r.io/" + std::string(255, 'a')})
        EXPECT_EQ(normal(text), "refused") << text;
    const auto bad = parse_reference("App");
    EXPECT_EQ(bad.error().code, base::Errc::InvalidArgument);
    EXPECT_EQ(bad.error().message.find("'App' is not an image name: "), 0U);
}

TEST(ReferenceTest, OnlyCompleteDigestsAreAccepted) {
    EXPECT_EQ(digest_hex("sha256:" + hex), hex);
    EXPECT_EQ(digest_hex(hex), "");
    EXPECT_EQ(digest_hex("sha256:../../etc/passwd"), "");
    EXPECT_EQ(digest_hex("sha256:" + hex + "a"), "");
}

TEST(ReferenceTest, DefaultPullPolicyEqualsTheApiServers) {
    EXPECT_EQ(default_pull_policy("app"), PullPolicy::Always);
    EXPECT_EQ(default_pull_policy("r.io:5000/app"), PullPolicy::Always);
    EXPECT_EQ(default_pull_policy("app:latest"), PullPolicy::Always);
    EXPECT_EQ(default_pull_policy("app:v1"), PullPolicy::IfNotPresent);
    EXPECT_EQ(default_pull_policy("r.io:5000/app:v1"), PullPolicy::IfNotPresent);
    EXPECT_EQ(default_pull_policy("app@sha256:" + hex), PullPolicy::IfNotPresent);
    EXPECT_EQ(default_pull_policy("app:latest@sha256:" + hex),
              PullPolicy::Always); // although a digest is given
}

} // namespace
} // namespace gpuhost::images
