// SPDX-License-Identifier: Apache-2.0
// cmocka's environment, for GoogleTest programs: who drives cmocka programs drives ours the same way.
//
//   CMOCKA_MESSAGE_OUTPUT  STANDARD (or STDOUT), TAP, XML, SUBUNIT; a comma list gives several; any case.
//                          Anything else is STANDARD, as in cmocka; not set leaves GoogleTest's own output
//   CMOCKA_XML_FILE        where XML goes instead of stdout; with %g one file a group, which is a GoogleTest suite
//   CMOCKA_TEST_FILTER     runs only tests whose name matches; * and ? as in a shell, against "Suite.Name" and "Name"
//   CMOCKA_SKIP_FILTER     leaves out tests whose name matches
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::tests {

enum class Format { Standard, Tap, Xml, Subunit };

struct CmockaEnv {
    std::vector<Format> formats; ///< empty: GoogleTest's own
    std::string xml_file;
    std::string test_filter;
    std::string skip_filter;
};

[[nodiscard]] CmockaEnv cmocka_env();
[[nodiscard]] std::vector<Format> parse_formats(std::string_view list);
/// Both filters as one for --gtest_filter; empty when neither is set.
[[nodiscard]] std::string gtest_filter(std::string_view test_filter, std::string_view skip_filter);

} // namespace gpuhost::tests
