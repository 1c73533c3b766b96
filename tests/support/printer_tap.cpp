// SPDX-License-Identifier: Apache-2.0
#include "tests/support/printer.hpp"

#include <cstdio>

namespace gpuhost::tests {
namespace {

class TapPrinter : public testing::EmptyTestEventListener {
  public:
    void OnTestProgramStart(const testing::UnitTest& program) override {
        std::printf("1..%d\n", program.test_to_run_count());
        std::fflush(stdout);
    }

    void OnTestEnd(const testing::TestInfo& test) override {
        const auto& result = *test.result();
        ++number_;
        if (result.Skipped())
            std::printf("ok %d - %s # SKIP %s\n", number_, full_name(test).c_str(),
                        skip_reason(result).c_str());
        else
            std::printf("%s %d - %s\n", result.Failed() ? "not ok" : "ok", number_, full_name(test).c_str());
        print_failures(result);
    }

    void OnTestSuiteEnd(const testing::TestSuite& suite) override {
        print_failures(suite.ad_hoc_test_result());
        std::printf("# %s - %s\n", suite.Passed() ? "ok" : "not ok", suite.name());
        std::fflush(stdout);
    }

    void OnTestProgramEnd(const testing::UnitTest& program) override {
        print_failures(program.ad_hoc_test_result());
    }

  private:
    static void print_failures(const testing::TestResult& result) {
        for (const auto& failure : failures(result)) {
            for (const auto& line : lines(failure.message))
                std::printf("# %s\n", line.c_str());
            std::printf("# %s\n", failure.where.c_str());
        }
        std::fflush(stdout);
    }

    int number_ = 0;
};

} // namespace

std::unique_ptr<testing::TestEventListener> make_tap_printer() {
    return std::make_unique<TapPrinter>();
}

} // namespace gpuhost::tests
