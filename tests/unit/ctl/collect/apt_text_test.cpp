// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/apt_text.hpp"
#include "daemon/ctl/collect/programs.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

const std::string digest(64, 'a');

std::string stanza(const std::string& name, const std::string& file) {
    return "Package: " + name + "\nVersion: 4:12.2.0-3\nPriority: optional\nFilename: " + file +
           "\nSize: 5224\nSHA256: " + digest + "\nDescription: text\n Version: 9\n\n";
}

TEST(AptText, StanzaHasAllFields) {
    const auto found = parse_stanzas(stanza("gcc", "pool/main/g/gcc/gcc_12.2.0-3_amd64.deb"));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].word(), "gcc=4:12.2.0-3");
    EXPECT_EQ(found[0].upstream(), "12.2.0");
    EXPECT_EQ(found[0].file, "gcc_12.2.0-3_amd64.deb");
    EXPECT_EQ(found[0].size, 5224U);
    EXPECT_FALSE(found[0].is_on_every_host());
}

TEST(AptText, LastStanzaNeedsNoEmptyLine) {
    const std::string text = stanza("a", "a_1_all.deb") + stanza("b", "b_1_all.deb");
    EXPECT_EQ(parse_stanzas(text.substr(0, text.size() - 1)).size(), 2U);
}

TEST(AptText, UnsafeStanzasAreSkipped) {
    EXPECT_TRUE(parse_stanzas(stanza("gcc", "pool/..")).empty());
    EXPECT_TRUE(parse_stanzas(stanza("gcc", "pool/a b_1_all.deb")).empty());
    EXPECT_TRUE(parse_stanzas(stanza("gcc", "pool/*.deb")).empty());
    EXPECT_TRUE(parse_stanzas("Package: gcc\nVersion: 1\nFilename: a_1_all.deb\nSHA256: short\n").empty());
    EXPECT_TRUE(parse_stanzas("N: Unable to locate package gcc\n").empty());
}

TEST(AptText, InvalidNamesAndVersionsAreSkipped) {
    const std::string rest = "\nFilename: a_1_all.deb\nSHA256: " + digest + "\n";
    EXPECT_EQ(parse_stanzas("Package: a\nVersion: 1:2.0+b~c-3" + rest).size(), 1U);
    EXPECT_TRUE(parse_stanzas("Package: ../a\nVersion: 1" + rest).empty());
    EXPECT_TRUE(parse_stanzas("Package: a\x1b[2J\nVersion: 1" + rest).empty());
    EXPECT_TRUE(parse_stanzas("Package: a\nVersion: 1/../2" + rest).empty());
    EXPECT_TRUE(parse_stanzas("Package: a" + rest).empty());
}

TEST(AptText, UrisHaveNameVersionAndUrl) {
    const std::string text =
        "Reading package lists...\n"
        "'https://a.example/gcc_12.2.0-3_amd64.deb' gcc_4%3a12.2.0-3_amd64.deb 5224 MD5Sum:00\n"
        "'file:/tmp/a%2bb/x_1_amd64.deb' x_1_amd64.deb 756 \n";
    const auto found = parse_uris(text, {"gcc", "/tmp/a+b/x_1_amd64.deb"});
    ASSERT_EQ(found.size(), 1U) << "apt was given the other one";
    EXPECT_EQ(found[0].word(), "gcc=4:12.2.0-3");
    EXPECT_EQ(found[0].url, "https://a.example/gcc_12.2.0-3_amd64.deb");
}

TEST(AptText, UriNeedsNoDigest) {
    // Debian's security archive has no MD5, the only digest that apt prints.
    const auto found =
        parse_uris("'https://a.example/libssl3_3.0_amd64.deb' libssl3_3.0_amd64.deb 756 \n", {});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].word(), "libssl3=3.0");
}

TEST(AptText, ReasonIsTheErrorsText) {
    EXPECT_EQ(reason_in("Get:1 x\nE: Unable to locate package a\nE: more\n"), "Unable to locate package a");
    EXPECT_EQ(reason_in("time=\"t\" level=fatal msg=\"Error parsing \\\"x\\\"\"\n"), "Error parsing \"x\"");
    EXPECT_EQ(reason_in("curl: (22) 404\n"), "curl: (22) 404");
    EXPECT_EQ(reason_in(""), "failed without a message");
}

} // namespace
} // namespace gpuhost::ctl
