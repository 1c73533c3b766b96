// SPDX-License-Identifier: Apache-2.0
#include "tests/support/printer.hpp"

#include <cstdio>

namespace gpuhost::tests {
namespace {

class SubunitPrinter : public testing::EmptyTestEventListener {
  public:
    void OnTestStart(const testing::TestInfo& test) override {
        std::printf("test: %s\n", full_name(test).c_str());
        std::fflush(stdout);
    }

    void OnTestEnd(const testing::TestInfo& test) override {
        const auto& result = *test.result();
        const auto name = full_name(test);
        if (result.Failed())
            print_failure("failure", name, result);
        else
            std::printf("%s: %s\n", result.Skipped() ? "skip" : "success", name.c_str());
        std::fflush(stdout);
    }

    void OnTestSuiteEnd(const testing::TestSuite& suite) override {
        if (suite.ad_hoc_test_result().Failed())
            print_failure("error", suite.name(), suite.ad_hoc_test_result());
    }

  private:
    static void print_failure(const char* word, const std::string& name, const testing::TestResult& result) {
        std::printf("%s: %s [\n", word, name.c_str());
        for (const auto& failure : failures(result))
            std::printf("%s\n%s\n", failure.message.c_str(), failure.where.c_str());
        std::printf("]\n");
    }
};

} // namespace

std::unique_ptr<testing::TestEventListener> make_subunit_printer() {
    return std::make_unique<SubunitPrinter>();
}

} // namespace gpuhost::tests
