// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cmocka_env.hpp"

#include <algorithm>
#include <cstdlib>

#include <strings.h>

namespace gpuhost::tests {
namespace {

std::string from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

Format parse_format(const std::string& word) {
    const auto is = [&](const char* name) { return ::strcasecmp(word.c_str(), name) == 0; };
    if (is("TAP"))
        return Format::Tap;
    if (is("XML"))
        return Format::Xml;
    if (is("SUBUNIT"))
        return Format::Subunit;
    return Format::Standard;
}

// ':' and '-' have a meaning in GoogleTest's filters. Names of tests contain neither, so such filters match
// none.
bool can_match(std::string_view pattern) {
    return !pattern.empty() && pattern.find_first_of(":-") == std::string_view::npos;
}

std::string either_name(std::string_view pattern) {
    return std::string(pattern) + ":*." + std::string(pattern);
}

} // namespace

std::vector<Format> parse_formats(std::string_view list) {
    std::vector<Format> formats;
    while (!list.empty()) {
        const auto comma = std::min(list.find(','), list.size());
        const auto format = parse_format(std::string(list.substr(0, comma)));
        if (std::find(formats.begin(), formats.end(), format) == formats.end())
            formats.push_back(format);
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return formats;
}

std::string gtest_filter(std::string_view test_filter, std::string_view skip_filter) {
    const std::string skip = can_match(skip_filter) ? "-" + either_name(skip_filter) : "";
    if (test_filter.empty())
        return skip.empty() ? "" : "*" + skip;
    return can_match(test_filter) ? either_name(test_filter) + skip : "-*";
}

CmockaEnv cmocka_env() {
    return {parse_formats(from_environment("CMOCKA_MESSAGE_OUTPUT")), from_environment("CMOCKA_XML_FILE"),
            from_environment("CMOCKA_TEST_FILTER"), from_environment("CMOCKA_SKIP_FILTER")};
}

} // namespace gpuhost::tests
