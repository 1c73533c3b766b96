// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/upgrade/choice.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Errc;
using Versions = std::vector<std::string>;

/// Facts of a host whose store has two versions.
ChoiceFacts stored() {
    ChoiceFacts facts;
    facts.store = {"550.163.01", "535.261.03"};
    return facts;
}

ChoiceFacts bringing(const Versions& versions) {
    ChoiceFacts facts;
    facts.has_input = true;
    facts.brought = versions;
    facts.arguments = " site.bundle";
    return facts;
}

std::string chosen(const ChoiceFacts& facts) {
    const auto version = choose_version(facts);
    return version ? *version : "refused: " + version.error().message;
}

void expect_refusal(const ChoiceFacts& facts, Errc code, const std::string& message,
                    const std::string& hint) {
    const auto version = choose_version(facts);
    ASSERT_FALSE(version) << *version;
    EXPECT_EQ(version.error().code, code);
    EXPECT_EQ(version.error().message, message);
    EXPECT_EQ(version.error().hint, hint);
}

TEST(UpgradeChoice, WithoutInputPrefersConfiguredVersionToNewest) {
    ChoiceFacts facts = stored();
    EXPECT_EQ(chosen(facts), "550.163.01");
    facts.configured = "535.261.03";
    EXPECT_EQ(chosen(facts), "535.261.03");
    facts.configured.clear();
    facts.offered = "535.261.03";
    EXPECT_EQ(chosen(facts), "535.261.03");
    facts.offered.clear();
    facts.named = "535.261.03";
    EXPECT_EQ(chosen(facts), "535.261.03");
}

TEST(UpgradeChoice, OnlyVersionOfInputIsChosen) {
    EXPECT_EQ(chosen(bringing({"570.86.10"})), "570.86.10");
    ChoiceFacts facts = bringing({});
    EXPECT_EQ(chosen(facts), "") << "input without a driver leaves the driver as it is";
    facts.store = {"550.163.01"};
    EXPECT_EQ(chosen(facts), "");
    for (const char* configured : {"550.163.01", "570.86.10"}) {
        facts.configured = configured;
        EXPECT_EQ(chosen(facts), "") << "whether the store has the configured version or not";
    }
    facts.offered = "550.163.01";
    EXPECT_EQ(chosen(facts), "");
    facts.offered.clear();
    facts.configured = "off";
    EXPECT_EQ(chosen(facts), "") << "images may come to a host whose driver is not managed";
}

TEST(UpgradeChoice, SeveralVersionsRequireName) {
    ChoiceFacts facts = bringing({"570.86.10", "550.163.01"});
    expect_refusal(facts, Errc::InvalidArgument,
                   "the input has several driver versions: 570.86.10, 550.163.01",
                   "Name one: gpuhostctl upgrade 570.86.10 site.bundle.");
    facts.configured = "550.163.01";
    EXPECT_EQ(choose_version(facts).error().hint, "Name one: gpuhostctl upgrade 550.163.01 site.bundle.")
        << "another version would be refused";
    facts.named = "550.163.01";
    EXPECT_EQ(chosen(facts), "550.163.01");
}

TEST(UpgradeChoice, ConfigurationOfAnotherVersionRefuses) {
    ChoiceFacts facts = stored();
    facts.named = "550.163.01";
    for (const char* configured : {"535.261.03", "off", "preinstalled"}) {
        facts.configured = configured;
        expect_refusal(facts, Errc::Refused,
                       "Version=" + std::string(configured) +
                           " in gpuhostd.conf: the next apply would not keep driver 550.163.01",
                       "Set Version=550.163.01 there, and run: gpuhostctl reload. Then repeat this command.");
    }
    facts.configured = "550.163.01";
    EXPECT_EQ(chosen(facts), "550.163.01");
    facts.named.clear();
    facts.configured = "off";
    EXPECT_EQ(chosen(facts),
              "refused: Version=off in gpuhostd.conf: gpuhostd does not manage the driver of this host");
}

TEST(UpgradeChoice, PolicyOfAnotherVersionRefuses) {
    ChoiceFacts facts = stored();
    facts.named = "550.163.01";
    facts.offered = "535.261.03";
    expect_refusal(facts, Errc::Refused,
                   "the cluster's policy selects driver 535.261.03 for this host, not 550.163.01",
                   "Follow the policy: gpuhostctl upgrade 535.261.03. Or change the version in the policy.");
    ChoiceFacts brings = bringing({"550.163.01"});
    brings.offered = "535.261.03";
    expect_refusal(brings, Errc::Refused,
                   "the cluster's policy selects driver 535.261.03 for this host, not 550.163.01",
                   "To bring it in without a swap, use gpuhostctl bundle import or gpuhostctl driver import. "
                   "Then change the version in the policy.");
    facts.offered = "550.163.01";
    facts.configured = "535.261.03";
    EXPECT_EQ(chosen(facts), "550.163.01") << "as apply, which requests the policy's version";
}

TEST(UpgradeChoice, MissingVersionNamesWhatThereIs) {
    ChoiceFacts facts = stored();
    facts.named = "570.86.10";
    expect_refusal(facts, Errc::NotFound, "driver 570.86.10 is not in the store",
                   "Name a bundle or packages with it: gpuhostctl upgrade 570.86.10 FILE…. The store has "
                   "550.163.01, 535.261.03.");
    facts = bringing({"550.163.01"});
    facts.named = "570.86.10";
    expect_refusal(facts, Errc::Refused,
                   "driver 570.86.10 is not in the store, and the input does not have it for this host",
                   "The input has 550.163.01. The store is empty.");
    facts.store = {"570.86.10"};
    expect_refusal(facts, Errc::Refused,
                   "driver 570.86.10 is in the store, but the input has only 550.163.01",
                   "Leave out the input: gpuhostctl upgrade 570.86.10.");
    facts.brought->clear();
    EXPECT_EQ(chosen(facts), "570.86.10") << "images, and a driver of the store";
    facts.store.clear();
    facts.brought.reset();
    EXPECT_EQ(chosen(facts), "570.86.10") << "the input is not known before the import";
    EXPECT_EQ(chosen({}), "refused: the driver store is empty");
}

} // namespace
} // namespace gpuhost::ctl
