// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json plan() {
    return {
        {"kind", "driver.swap"},
        {"title", "swap driver 535.261.03 → 550.163.01"},
        {"steps", {{{"kind", "a"}, {"summary", "stop units"}}, {{"kind", "b"}, {"summary", "load nvidia"}}}},
        {"reasons", {"loaded 535.261.03, wanted 550.163.01"}},
        {"problems", Json::array()}};
}

Json problem(const std::string& code, const std::string& text, const std::string& hint) {
    return {{"code", code}, {"text", text}, {"hint", hint}};
}

TEST(PlanView, ShowsReasonsAndSteps) {
    EXPECT_EQ(render_plan({}, plan()),
              "swap driver 535.261.03 → 550.163.01\n"
              "  loaded 535.261.03, wanted 550.163.01\n"
              "\n"
              "2 steps:\n"
              "  1. stop units\n"
              "  2. load nvidia\n"
              "\n"
              "Files, space and holders of the driver are checked at the start, before any change.\n");
    EXPECT_EQ(plan_exit_status(plan()), 0);
}

TEST(PlanView, ClusterOfferIsShownFirst) {
    Json with = plan();
    with["upgrade"] = "550.163.01";
    const std::string offer = "The cluster's policy selects driver 550.163.01 for this host: apply requests "
                              "the upgrade from gpuhost-cluster.\n";
    EXPECT_EQ(render_plan({}, with), offer + "\n" + render_plan({}, plan()));
    with["steps"] = Json::array();
    EXPECT_EQ(render_plan({}, with), offer);
}

TEST(PlanView, ShowsUndecidedChoice) {
    Json with = plan();
    with["steps"] = Json::array();
    with["reasons"] = {"no driver version is configured or selected"};
    with["undecided"] = problem("refused", "no driver is chosen", "Choose one: gpuhostctl driver swap 550");
    EXPECT_EQ(render_plan({}, with), "Nothing to do: no driver version is configured or selected\n"
                                     "To decide:\n"
                                     "  no driver is chosen\n"
                                     "  Hint: Choose one: gpuhostctl driver swap 550\n");
    EXPECT_EQ(plan_exit_status(with), 8);
}

TEST(PlanView, CleanWithoutStepsListsWhatIsKept) {
    Json clean = plan();
    clean["kind"] = "driver.clean";
    clean["steps"] = Json::array();
    clean["reasons"] = Json::array();
    EXPECT_EQ(render_plan({}, clean), "Nothing to remove.\n");
    clean["reasons"] = {"550.163.01 stays: it is loaded", "535.261.03 stays: it is pinned"};
    EXPECT_EQ(render_plan({}, clean), "Nothing to remove:\n"
                                      "  550.163.01 stays: it is loaded\n"
                                      "  535.261.03 stays: it is pinned\n");
}

TEST(ImageView, EmptyListIsEmptyText) {
    EXPECT_EQ(render_images({}, {{"images", Json::array()}}), "");
    EXPECT_EQ(render_images({}, {{"images", Json::array()}, {"problems", {"x"}}}), "x\n");
}

TEST(PlanView, WarningsOfChecksAreShownLast) {
    Json with = plan();
    with["checked"] = true;
    with["warnings"] = Json::array({"the kubelet deletes \x1b[2Jimages"});
    const std::string text = render_plan({}, with);
    const auto at = text.find("\nChecked on this host: no problems found.\nWarning: the kubelet deletes ");
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << "escape sequences are replaced";
    with["notes"] = Json::array({"symbol versions are not checked"});
    EXPECT_NE(render_plan({}, with).find("Note: symbol versions are not checked\n"), std::string::npos);
    EXPECT_EQ(plan_exit_status(with), 0);
}

TEST(PlanView, ProblemsAreShownLastWithHints) {
    Json with = plan();
    with["problems"].push_back(
        problem("not-found", "no modules for 6.1.0-56-amd64", "gpuhostctl driver build 550"));
    EXPECT_NE(render_plan({}, with).find("\n1 problem blocks this:\n"
                                         "  no modules for 6.1.0-56-amd64\n"
                                         "  Hint: gpuhostctl driver build 550\n"),
              std::string::npos);
    EXPECT_EQ(plan_exit_status(with), 4);
}

TEST(PlanView, SharedHintIsShownOnce) {
    EXPECT_EQ(
        render_problems({}, {problem("in-use", "a holds it", "stop it"),
                             problem("in-use", "b holds it", "stop it"), problem("no-space", "full", "")}),
        "  1. a holds it\n"
        "  2. b holds it\n"
        "     Hint: stop it\n"
        "  3. full\n");
}

TEST(PlanView, StoreOnlyPlanDoesNotMentionHolders) {
    Json import = plan();
    import["changes_host"] = false;
    EXPECT_EQ(render_plan({}, import).find("holders of the driver"), std::string::npos);
}

TEST(PlanView, PlanWithoutStepsShowsTheReasons) {
    Json idle = plan();
    idle["steps"].clear();
    idle["reasons"] = {"550.163.01 has modules for 6.1.0-50-amd64 already"};
    EXPECT_EQ(render_plan({}, idle), "Nothing to do: 550.163.01 has modules for 6.1.0-50-amd64 already\n");
    idle["reasons"] = {"one", "two"};
    EXPECT_EQ(render_plan({}, idle), "Nothing to do: the host is up to date.\n  one\n  two\n");
    idle["reasons"].clear();
    EXPECT_EQ(render_plan({}, idle), "Nothing to do: the host is up to date.\n");
}

TEST(PlanView, RefusalListsAllProblems) {
    Json with = plan();
    with["problems"].push_back(problem("not-found", "one", ""));
    with["problems"].push_back(problem("in-use", "two", "do this"));
    EXPECT_EQ(render_refusal({}, with),
              "gpuhostctl: swap driver 535.261.03 → 550.163.01: refused, nothing was changed; 2 problems:\n"
              "  1. one\n"
              "  2. two\n"
              "     Hint: do this\n");
    EXPECT_EQ(plan_exit_status(with), 8);
}

} // namespace
} // namespace gpuhost::ctl
