// SPDX-License-Identifier: Apache-2.0
// Reads cmocka's environment for GoogleTest programs, so that they are controlled like cmocka programs.
//
//   CMOCKA_MESSAGE_OUTPUT  STANDARD (or STDOUT), TAP, XML, SUBUNIT; a comma list gives several; any case.
//                          Any other value is STANDARD, as in cmocka. Unset keeps GoogleTest's output
//   CMOCKA_XML_FILE        writes XML to this file, not to stdout; %g makes a file for each group, which is a
//                          GoogleTest suite
//   CMOCKA_TEST_FILTER     runs only tests whose "Suite.Name" or "Name" matches; * and ? as in a shell
//   CMOCKA_SKIP_FILTER     skips tests whose name matches
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::tests {

enum class Format { Standard, Tap, Xml, Subunit };

struct CmockaEnv {
    std::vector<Format> formats; ///< empty: GoogleTest's own output
    std::string xml_file;
    std::string test_filter;
    std::string skip_filter;
};

[[nodiscard]] CmockaEnv cmocka_env();
[[nodiscard]] std::vector<Format> parse_formats(std::string_view list);
/// Returns both filters as one value for --gtest_filter; empty if neither is set.
[[nodiscard]] std::string gtest_filter(std::string_view test_filter, std::string_view skip_filter);

} // namespace gpuhost::tests
