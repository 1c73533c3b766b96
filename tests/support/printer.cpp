// SPDX-License-Identifier: Apache-2.0
#include "tests/support/printer.hpp"

#include <sstream>

namespace gpuhost::tests {

std::string full_name(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> result;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        result.push_back(line);
    return result;
}

std::vector<Failure> failures(const testing::TestResult& result) {
    std::vector<Failure> found;
    for (int i = 0; i < result.total_part_count(); ++i) {
        const auto& part = result.GetTestPartResult(i);
        if (!part.failed())
            continue;
        const std::string file = part.file_name() ? part.file_name() : "unknown file";
        found.push_back(
            {part.message(), file + ":" + std::to_string(part.line_number()) + ": error: Failure!"});
    }
    return found;
}

std::string skip_reason(const testing::TestResult& result) {
    for (int i = 0; i < result.total_part_count(); ++i) {
        const auto& part = result.GetTestPartResult(i);
        const auto text = part.skipped() ? lines(part.message()) : std::vector<std::string>{};
        if (!text.empty() && !text.front().empty())
            return text.front();
    }
    return {};
}

} // namespace gpuhost::tests
