// SPDX-License-Identifier: Apache-2.0
#include "tests/support/printer.hpp"

#include <cstdio>

namespace gpuhost::tests {
namespace {

// As in cmocka, progress is printed to stdout and failures to stderr.
class StandardPrinter : public testing::EmptyTestEventListener {
  public:
    void OnTestSuiteStart(const testing::TestSuite& suite) override {
        skipped_.clear();
        failed_.clear();
        say("[==========] Running " + std::to_string(suite.test_to_run_count()) + " test(s).");
    }

    void OnTestStart(const testing::TestInfo& test) override { say("[ RUN      ] " + full_name(test)); }

    void OnTestEnd(const testing::TestInfo& test) override {
        const auto& result = *test.result();
        const auto name = full_name(test);
        if (result.Failed()) {
            print_failures(result);
            failed_.push_back(name);
        } else if (result.Skipped()) {
            skipped_.push_back(name);
        }
        const char* verdict = result.Failed()    ? "[  FAILED  ] "
                              : result.Skipped() ? "[  SKIPPED ] "
                                                 : "[       OK ] ";
        say(verdict + name);
    }

    void OnTestSuiteEnd(const testing::TestSuite& suite) override {
        say("[==========] " + std::to_string(suite.test_to_run_count()) + " test(s) run.");
        std::fprintf(stderr, "[  PASSED  ] %d test(s).\n", suite.successful_test_count());
        print_list("SKIPPED", skipped_);
        print_list("FAILED", failed_);
        if (suite.ad_hoc_test_result().Failed()) {
            print_failures(suite.ad_hoc_test_result());
            std::fprintf(stderr, "[  FAILED  ] GROUP SETUP\n[  ERROR   ] %s\n", suite.name());
        }
    }

  private:
    static void say(const std::string& line) {
        std::puts(line.c_str());
        std::fflush(stdout);
    }

    static void print_failures(const testing::TestResult& result) {
        for (const auto& failure : failures(result))
            std::fprintf(stderr, "[  ERROR   ] --- %s\n[   LINE   ] --- %s\n", failure.message.c_str(),
                         failure.where.c_str());
    }

    static void print_list(const char* word, const std::vector<std::string>& names) {
        if (names.empty())
            return;
        std::fprintf(stderr, "[  %-7s ] %zu test(s), listed below:\n", word, names.size());
        for (const auto& name : names)
            std::fprintf(stderr, "[  %-7s ] %s\n", word, name.c_str());
        std::fprintf(stderr, "\n %zu %s TEST(S)\n", names.size(), word);
    }

    std::vector<std::string> skipped_;
    std::vector<std::string> failed_;
};

} // namespace

std::unique_ptr<testing::TestEventListener> make_standard_printer() {
    return std::make_unique<StandardPrinter>();
}

} // namespace gpuhost::tests
