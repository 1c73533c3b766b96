// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/upgrade/input.hpp"
#include "images/bundle/layout.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::ctl {
namespace {

using tests::TempDir;
using Kind = UpgradeInput::Kind;
using Words = std::vector<std::string>;

/// The first block of a bundle, which is all that is recognized.
std::string bundle() {
    return images::manifest_header(1000) + std::string(1024, 'x');
}

Kind kind_of(const Words& words, const std::string& peer = "") {
    const auto input = recognize_input(words, peer);
    EXPECT_TRUE(input) << input.error().message;
    return input ? input->kind : Kind::None;
}

std::string message_of(const Words& words, const std::string& peer = "") {
    const auto input = recognize_input(words, peer);
    return input ? "was accepted" : input.error().message;
}

TEST(UpgradeInput, WordOfDigitsAndDotsIsVersion) {
    const auto input = recognize_input({"550.163.01"}, "");
    ASSERT_TRUE(input);
    EXPECT_EQ(input->version, "550.163.01");
    EXPECT_EQ(input->kind, Kind::None);
    EXPECT_EQ(kind_of({}), Kind::None);
    EXPECT_EQ(message_of({"550.163.01", "535.261.03"}),
              "two driver versions are given: 550.163.01 and 535.261.03");
    EXPECT_EQ(message_of({"550.163.01", "550.163.01"}), "was accepted");
}

TEST(UpgradeInput, BundleIsRecognizedByItsContent) {
    const TempDir dir;
    dir.write("a.deb", bundle()); // the name does not matter
    dir.write("site.bundle.001", bundle());
    dir.write("site.bundle.002", "more");
    EXPECT_EQ(kind_of({dir.path("a.deb")}), Kind::Bundle);
    EXPECT_EQ(kind_of({"550.163.01", dir.path("site.bundle.001")}), Kind::Bundle);
    EXPECT_EQ(kind_of({dir.path("site.bundle.001"), dir.path("site.bundle.002")}), Kind::Bundle);
    EXPECT_EQ(message_of({dir.path("site.bundle.001"), dir.path("a.deb")}),
              "'" + dir.path("a.deb") + "' is not a further volume of the bundle '" +
                  dir.path("site.bundle.001") + "'");
}

TEST(UpgradeInput, PipeIsBundleThatIsReadOnce) {
    const TempDir dir;
    ASSERT_EQ(::mkfifo(dir.path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(kind_of({dir.path("pipe")}), Kind::Stream);
}

TEST(UpgradeInput, PackagesAndDirectoriesAreDriverFiles) {
    const TempDir dir;
    dir.write("drivers/a_550.163.01.deb", "");
    dir.write("drivers/nvidia.ko", "");
    const auto input = recognize_input({dir.path("drivers")}, "");
    ASSERT_TRUE(input) << input.error().message;
    EXPECT_EQ(input->kind, Kind::Drivers);
    EXPECT_EQ(input->drivers.packages, Words{dir.path("drivers/a_550.163.01.deb")});
    EXPECT_EQ(input->drivers.modules, Words{dir.path("drivers/nvidia.ko")});
    EXPECT_EQ(kind_of({dir.path("drivers/a_550.163.01.deb")}), Kind::Drivers);
}

TEST(UpgradeInput, OtherInputIsRefusedWithNextStep) {
    const TempDir dir;
    dir.write("notes.txt", "x");
    dir.write("stick/site.bundle", bundle());
    EXPECT_EQ(message_of({dir.path("none")}), "'" + dir.path("none") + "': No such file or directory");
    EXPECT_EQ(message_of({dir.path("notes.txt")}),
              "'" + dir.path("notes.txt") + "' is neither a package (.deb, .rpm, .run) nor a .ko file");
    const auto stick = recognize_input({dir.path("stick")}, "");
    ASSERT_FALSE(stick);
    EXPECT_EQ(stick.error().hint,
              "Name the bundle in it: gpuhostctl upgrade " + dir.path("stick/site.bundle") + ".");
    const auto several = recognize_input({dir.path("stick"), dir.path("none")}, "");
    ASSERT_FALSE(several);
    EXPECT_EQ(several.error().hint.find("Name the bundle"), std::string::npos) << several.error().hint;
    dir.write("modules/nvidia.ko", "");
    const auto second = recognize_input({dir.path("modules"), dir.path("stick")}, "");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().hint, stick.error().hint);
    dir.write("foreign/a;reboot;.bundle", bundle());
    const auto foreign = recognize_input({dir.path("foreign")}, "");
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().hint,
              "Name the bundle in it: gpuhostctl upgrade '" + dir.path("foreign/a;reboot;.bundle") + "'.");
}

TEST(UpgradeInput, PeerExcludesFiles) {
    EXPECT_EQ(kind_of({"550.163.01"}, "site"), Kind::Peer);
    EXPECT_EQ(message_of({"site.bundle"}, "site"), "--peer and files cannot be used together");
}

} // namespace
} // namespace gpuhost::ctl
