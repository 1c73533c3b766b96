// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/model.hpp"
#include "tests/unit/ctl/dashboard/documents.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace gpuhost::ctl::dashboard {
namespace {

using base::Json;

constexpr Screen narrow{true, true, 38, 24};

std::string shown(Pane pane, const Documents& documents) {
    return text_of_rows(rows_of(pane, documents, narrow));
}

std::string opened(Item::Kind kind, const std::string& key, const Documents& documents) {
    return text_of_lines(detail_of({kind, key}, documents, {true, true, 78, 24}).lines);
}

TEST(DashboardModel, PanesShowTheLinesOfStatus) {
    const Documents documents = sample();
    EXPECT_EQ(shown(Pane::Host, documents), "   Host: idle, kernel 6.1.0-50-amd64\nPending: nothing\n");
    EXPECT_EQ(shown(Pane::Gpus, documents), "0000:01:00.0  nvidia  NVIDIA H100\n"
                                            "0000:02:00.0  nvidia  0x2330\n");
    EXPECT_EQ(shown(Pane::Driver, documents), "  Driver: 550.163.01 loaded: nvidia\n"
                                              "Selected: 550.163.01\n"
                                              "    GPUs: 2, all bound to nvidia\n"
                                              "   Store: 550.163.01\n"
                                              "          535.261.03\n");
    EXPECT_EQ(shown(Pane::Cluster, documents), "Server: https://api\n  Node: gpu01, watched\n");
}

TEST(DashboardModel, OperationsAreNewestFirst) {
    EXPECT_EQ(shown(Pane::Operations, sample()), "ID  AGE  STATE      TITLE        \n"
                                                 "12  72s  committed  swap driver\n"
                                                 "11   2m  committed  import driver\n");
}

TEST(DashboardModel, TitlesOfOperationsBeginInOneColumn) {
    auto documents = sample();
    documents.operations.push_back({13, "k", "rolled-back", "swap driver", 1, 2});
    const std::string text = shown(Pane::Operations, documents);
    EXPECT_NE(text.find("rolled-back  swap driver\n12  72s  committed    swap driver\n"), std::string::npos)
        << text;
}

TEST(DashboardModel, RunningOperationHasBarAndSteps) {
    const auto rows = rows_of(Pane::Operation, running_sample(), {true, true, 60, 24});
    const std::string text = text_of_rows(rows);
    EXPECT_EQ(text.find("12 swap driver 535.261.03 → 550.163.01\n 43% [==========>             ]\n"), 0U)
        << text;
    ASSERT_EQ(rows.size(), 4U) << "without the step that is done";
    EXPECT_EQ(painted({}, rows[2].line), "  2. running     load nvidia 550.163.01");
    EXPECT_EQ(rows[2].item, (Item{Item::Kind::Operation, "12"}));
}

TEST(DashboardModel, RunningStepShowsWhatItDoes) {
    Documents documents = running_sample();
    documents.last["text"] = "copied 3 of 7 files";
    EXPECT_NE(shown(Pane::Operation, documents).find("]\ncopied 3 of 7 files\n  2. running"),
              std::string::npos);
    documents.last["text"] = "load nvidia 550.163.01";
    EXPECT_NE(shown(Pane::Operation, documents).find("]\n  2. running"), std::string::npos);
}

TEST(DashboardModel, EndedOperationHasOutcome) {
    EXPECT_EQ(shown(Pane::Operation, sample()), "Last: operation 12, swap driver\n"
                                                "      535.261.03 → 550.163.01:\n"
                                                "      committed, 1 min ago\n");
}

TEST(DashboardModel, MissingOperationsAreNotNone) {
    Documents documents = sample();
    documents.operations.clear();
    documents.last = Json();
    for (const Pane pane : {Pane::Operation, Pane::Operations}) {
        documents.operations_problem.clear();
        EXPECT_EQ(shown(pane, documents), "No operation yet.\n");
        documents.operations_problem = Documents().operations_problem;
        EXPECT_EQ(shown(pane, documents), "not known: not read yet\n");
        documents.operations_problem = "timed out";
        EXPECT_EQ(shown(pane, documents), "not known: timed out\n");
    }
}

TEST(DashboardModel, UnreadOperationIsNotKnown) {
    Documents documents = sample();
    documents.last = Json();
    EXPECT_EQ(shown(Pane::Operation, documents), "not known\n");
    EXPECT_NE(shown(Pane::Operations, documents).find("12  72s  committed"), std::string::npos);
    documents.operations_problem = "timed out";
    EXPECT_EQ(shown(Pane::Operation, documents), "not known: timed out\n");
}

TEST(DashboardModel, VerdictIsThatOfStatus) {
    EXPECT_EQ(text_of_lines(verdict_lines(sample(), narrow)), "OK: driver 550.163.01 serves 2 GPUs\n");
    EXPECT_FALSE(verdict_of(running_sample()).ok);
    Documents gone;
    gone.problem = base::Error{base::Errc::Failed, "gpuhostd is not running", "Start it."};
    EXPECT_EQ(text_of_lines(verdict_lines(gone, {true, true, 80, 24})),
              "NOT OK: gpuhostd is not running\nHint: Start it.\n");
    EXPECT_EQ(shown(Pane::Driver, gone), "not known\n");
}

TEST(DashboardModel, GpuWithoutDriverIsMarked) {
    Documents documents = sample();
    documents.host["components"]["driver"]["observed"]["gpus"][1]["driver"] = "";
    const auto rows = rows_of(Pane::Gpus, documents, narrow);
    EXPECT_EQ(rows[1].line[1].style, Style::Warn);
    EXPECT_EQ(rows[1].line[1].text.substr(0, 9), "no driver");
}

TEST(DashboardModel, RuntimesShowWhatTheKubeletGets) {
    Documents documents = sample();
    EXPECT_EQ(shown(Pane::Runtimes, documents).find("Kubelet"), std::string::npos);
    documents.host["components"]["devices"]["observed"] = {{"serve", true}};
    EXPECT_NE(shown(Pane::Runtimes, documents).find("Kubelet: gets no GPU: "), std::string::npos)
        << shown(Pane::Runtimes, documents);
}

TEST(DashboardModel, DetailsShowTheItem) {
    const Documents documents = sample();
    EXPECT_EQ(opened(Item::Kind::Gpu, "0000:01:00.0", documents), "   GPU: 0000:01:00.0\n"
                                                                  " Model: NVIDIA H100\n"
                                                                  "Device: 0x2330\n"
                                                                  "Driver: nvidia 550.163.01\n");
    EXPECT_NE(opened(Item::Kind::Bundle, "site", documents).find("Bundle: site, generation 7\n"),
              std::string::npos);
    EXPECT_EQ(opened(Item::Kind::Driver, "535.261.03", documents), "Driver: 535.261.03\n");
    EXPECT_NE(opened(Item::Kind::Operation, "12", documents).find("  3. done        point libraries at"),
              std::string::npos);
    EXPECT_EQ(opened(Item::Kind::Pane, "7", documents), shown(Pane::Operations, documents));
    EXPECT_EQ(opened(Item::Kind::Bundle, "gone", documents), "not known\n");
}

TEST(DashboardModel, ControlCharactersDoNotReachTheTerminal) {
    Documents documents = sample();
    documents.host["kernel"] = "\033[2J\n\u202ex";
    documents.models["0000:01:00.0"] = "\033]0;x\007";
    documents.cluster["server"] = "\033[1;1H";
    documents.operations[0].title = "a\033[0m\nb";
    for (const Pane pane : panes) {
        const std::string text = shown(pane, documents);
        EXPECT_EQ(text.find('\033'), std::string::npos) << text;
        EXPECT_EQ(text.find("\u202e"), std::string::npos) << text;
    }
}

/// Calls `use` with each value of a document changed.
void for_each_change(Json& value, const std::function<void()>& use) {
    const Json before = value;
    for (const Json& other :
         {Json(), Json(-1), Json(1e300), Json("\xff"), Json::array({1, nullptr}), Json::object()}) {
        value = other;
        use();
    }
    value = before;
    if (value.is_structured())
        for (auto& element : value)
            for_each_change(element, use);
}

TEST(DashboardModel, DocumentsOfAnyShapeAreShown) {
    Documents documents = running_sample();
    std::size_t lines = 0;
    const auto use = [&] {
        for (const Pane pane : panes)
            lines += rows_of(pane, documents, narrow).size();
        for (const auto& [kind, key] :
             {Item{Item::Kind::Operation, "12"}, Item{Item::Kind::Gpu, "0000:01:00.0"},
              Item{Item::Kind::Bundle, "site"}, Item{Item::Kind::Driver, "550.163.01"}})
            lines += detail_of({kind, key}, documents, narrow).lines.size();
        lines += verdict_lines(documents, narrow).size();
    };
    for_each_change(documents.host, use);
    for_each_change(documents.last, use);
    for_each_change(documents.cluster, use);
    EXPECT_GT(lines, 1000U);
}

} // namespace
} // namespace gpuhost::ctl::dashboard
