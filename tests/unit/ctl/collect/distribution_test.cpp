// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/distribution.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

std::string sources(const std::string& name, const std::vector<std::string>& mirrors,
                    std::string_view architecture = "amd64") {
    const auto distribution = find_distribution(name);
    const auto text = sources_of(**distribution, architecture, mirrors);
    return text ? *text : text.error().message;
}

TEST(Distribution, DebianHasUpdatesAndSecurity) {
    EXPECT_EQ(sources("debian-12", {}),
              "deb https://deb.debian.org/debian bookworm main contrib non-free non-free-firmware\n"
              "deb https://deb.debian.org/debian bookworm-updates main contrib non-free non-free-firmware\n"
              "deb https://deb.debian.org/debian-security bookworm-security main contrib non-free "
              "non-free-firmware\n");
}

TEST(Distribution, UbuntuForArmIsOnPorts) {
    EXPECT_EQ(
        sources("ubuntu-24.04", {}, "arm64").find("deb http://ports.ubuntu.com/ubuntu-ports noble main"), 0U);
}

TEST(Distribution, MirrorNamesItsSuites) {
    EXPECT_EQ(
        sources("debian-13", {"http://m.example/debian trixie", "http://m.example/debian-security/",
                              "file:/media/flat ./"}),
        "deb http://m.example/debian trixie main contrib non-free non-free-firmware\n"
        "deb http://m.example/debian-security/ trixie-security main contrib non-free non-free-firmware\n"
        "deb file:/media/flat ./\n");
}

TEST(Distribution, MirrorWithOptionsIsRefused) {
    EXPECT_EQ(sources("debian-12", {"[trusted=yes] http://m.example"}),
              "--mirror: '[trusted=yes] http://m.example' is not a URL");
    EXPECT_EQ(sources("debian-12", {""}), "--mirror: '' is not a URL");
}

TEST(Distribution, UbuntuNamesHaveTheMajorVersion) {
    const auto sets = driver_packages(**find_distribution("ubuntu-24.04"), "535.261.03");
    ASSERT_EQ(sets.size(), 2U);
    EXPECT_EQ(sets[0].needed[0], "nvidia-utils-535");
    EXPECT_EQ(sets[1].needed[2], "nvidia-firmware-535-server-535.261.03");
}

} // namespace
} // namespace gpuhost::ctl
