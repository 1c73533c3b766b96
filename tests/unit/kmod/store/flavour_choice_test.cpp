// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/requests.hpp"
#include "kmod/store/flavour_choice.hpp"
#include "kmod/store/supported_gpus.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;

const std::string version = "550.163.01";
const PciGpu volta{"0000:01:00.0", "0x1db6", ""};
const PciGpu hopper{"0000:02:00.0", "0x2330", "nvidia"};
const PciGpu given_away{"0000:03:00.0", "0x2330", "vfio-pci"};

/// Returns a store with both sources. The list has one GPU.
Store store(bool with_list = true) {
    Store made;
    DriverVersion driver;
    driver.version = version;
    driver.userland.resize(2);
    if (with_list)
        driver.userland[1].closed_gpus = {"10de:1db6"};
    driver.sources = {{"proprietary", "p", "/p", "p.tar.zst", "usr/src/p", 1, "sha", 0},
                      {"open", "s", "/s", "s.tar.zst", "usr/src/s", 1, "sha", 0}};
    made.versions = {driver};
    return made;
}

FlavourChoice choose(const std::string& wanted, const std::vector<PciGpu>& gpus, bool with_list = true) {
    return choose_flavour(store(with_list), version, wanted, gpus);
}

TEST(SupportedGpusTest, ListsGpusWithoutOpenModules) {
    const auto list = parse_supported_gpus(
        R"({"chips": [{"devid": "0x1DB6", "features": ["x"]}, {"devid": "0x2330", "features": ["kernelopen"]},
            {"devid": "0x1EB8", "features": []}, {"devid": "0x1EB8", "features": ["y", "kernelopen"]},
            {"devid": "0x0FC6", "legacybranch": "470.xx", "features": []}, {"devid": "0x15f7"}]})",
        "x");
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(*list, (std::vector<std::string>{"10de:15f7", "10de:1db6"}));
}

TEST(SupportedGpusTest, RefusesInvalidLists) {
    for (const char* text : {"", "[]", "{}", R"({"chips": {}})", R"({"chips": [{}]})", R"({"chips": [7]})",
                             R"({"chips": [{"devid": "0x1DB"}]})", R"({"chips": [{"devid": "0x../"}]})"}) {
        const auto list = parse_supported_gpus(text, "x.run");
        ASSERT_FALSE(list) << text;
        EXPECT_EQ(list.error().code, Errc::BadContent) << text;
    }
}

TEST(FlavourChoiceTest, AnyChoosesTheFlavourForTheGpus) {
    EXPECT_EQ(choose("any", {volta}).flavour, "proprietary");
    ASSERT_EQ(choose("any", {volta}).reasons.size(), 1U);
    EXPECT_EQ(choose("any", {volta}).reasons[0], "the open modules of 550.163.01 do not drive 0000:01:00.0 "
                                                 "(10de:1db6): the proprietary modules are used");
    EXPECT_EQ(choose("any", {hopper}).flavour, "any");
    EXPECT_EQ(choose("any", {volta, given_away}).flavour, "proprietary")
        << "a GPU of vfio-pci needs no driver";
    EXPECT_EQ(choose("any", {}).flavour, "any");
}

TEST(FlavourChoiceTest, GpusOfBothKindsAreAProblem) {
    const FlavourChoice choice = choose("any", {volta, hopper});
    ASSERT_TRUE(choice.problem);
    EXPECT_EQ(choice.problem->code, Errc::Unsupported);
    EXPECT_EQ(choice.problem->text,
              "the open modules of 550.163.01 do not drive 0000:01:00.0 (10de:1db6), but "
              "0000:02:00.0 (10de:2330) may need them");
    EXPECT_FALSE(choose("proprietary", {volta, hopper}).problem);
}

TEST(FlavourChoiceTest, ConfiguredFlavourIsUsed) {
    const FlavourChoice open = choose("open", {volta});
    EXPECT_EQ(open.flavour, "open");
    ASSERT_EQ(open.reasons.size(), 1U);
    EXPECT_EQ(
        open.reasons[0].find("Flavour=open applies, although the open modules of 550.163.01 do not drive"),
        0U);
    EXPECT_TRUE(choose("proprietary", {volta}).reasons.empty());
}

TEST(FlavourChoiceTest, WithoutAListAnyIsKept) {
    const FlavourChoice choice = choose("any", {volta, hopper}, false);
    EXPECT_EQ(choice.flavour, "any");
    EXPECT_TRUE(choice.reasons.empty());
    EXPECT_FALSE(choice.problem);
    EXPECT_EQ(choose_flavour(store(), "1.2.3", "any", {volta}).flavour, "any");
}

TEST(FlavourChoiceTest, SwapUsesModulesForTheGpus) {
    Store made = store();
    const ModuleSet open{"6.1", "open", "o", "/o", {}, 0};
    const ModuleSet proprietary{"6.1", "proprietary", "p", "/p", {}, 0};
    made.versions[0].modules = {open};
    const auto taken = [&](const std::string& wanted, const PciGpu& gpu) {
        const ModuleSet* const set = modules_to_use(made, version, "6.1", wanted, {gpu});
        return set != nullptr ? set->digest : "none";
    };
    EXPECT_EQ(taken("any", hopper), "o");
    EXPECT_EQ(taken("any", volta), "none") << "the open modules do not support it";
    made.versions[0].modules = {open, proprietary};
    EXPECT_EQ(taken("any", volta), "p");
    EXPECT_EQ(taken("any", hopper), "o");
    EXPECT_EQ(taken("open", volta), "o");
}

TEST(FlavourChoiceTest, BuildUsesTheSourceForTheGpus) {
    const auto build = [](const std::string& flavour, const std::vector<PciGpu>& gpus) {
        Observed observed;
        observed.kernel = "6.1.0-50-amd64";
        observed.gpus = gpus;
        observed.store = store();
        DriverSettings settings;
        settings.flavour = flavour;
        return build_plan(version, {}, false, settings, observed);
    };
    EXPECT_EQ(build("any", {volta}).steps.at(0).args["source"]["flavour"], "proprietary");
    EXPECT_EQ(build("any", {hopper}).steps.at(0).args["source"]["flavour"], "open");
    EXPECT_EQ(build("open", {volta}).steps.at(0).args["source"]["flavour"], "open");
    const core::Plan both = build("any", {volta, hopper});
    EXPECT_TRUE(both.steps.empty());
    ASSERT_EQ(both.problems.size(), 1U);
}

} // namespace
} // namespace gpuhost::kmod
