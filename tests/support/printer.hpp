// SPDX-License-Identifier: Apache-2.0
// Prints GoogleTest results in the output formats of cmocka 1.1.
//
// Two differences are intentional. A skipped test is "ok … # SKIP reason" in TAP; cmocka 1.1.5 writes "not
// ok", fixed in 1.1.6. All suites share one plan and one <testsuites>; cmocka repeats both for each group,
// which neither format allows.
#pragma once

#include "tests/support/cmocka_env.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gpuhost::tests {

[[nodiscard]] std::unique_ptr<testing::TestEventListener> make_standard_printer();
[[nodiscard]] std::unique_ptr<testing::TestEventListener> make_tap_printer();
[[nodiscard]] std::unique_ptr<testing::TestEventListener> make_subunit_printer();
[[nodiscard]] std::unique_ptr<testing::TestEventListener> make_xml_printer(std::string file);

/// A failed assertion, split as cmocka does: the message, and "file:line: error: Failure!".
struct Failure {
    std::string message;
    std::string where;
};

[[nodiscard]] std::string full_name(const testing::TestInfo& test);
[[nodiscard]] std::vector<Failure> failures(const testing::TestResult& result);
[[nodiscard]] std::string skip_reason(const testing::TestResult& result); ///< one line; may be empty
[[nodiscard]] std::vector<std::string> lines(const std::string& text);

} // namespace gpuhost::tests
