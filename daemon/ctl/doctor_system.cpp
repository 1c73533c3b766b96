// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/doctor_facts.hpp"
#include "daemon/ctl/system_query.hpp"

#include <algorithm>

namespace gpuhost::ctl {

namespace {

/// The first word of each line.
std::vector<std::string> first_words(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();
         at = text.find('\n', at) == std::string::npos ? text.size() : text.find('\n', at) + 1) {
        const auto line = base::split_words(std::string_view(text).substr(at, text.find('\n', at) - at));
        if (!line.empty())
            words.push_back(line.front());
    }
    return words;
}

} // namespace

void ask_system(DoctorFacts& facts) {
    const std::string all = "gpuhost*";
    if (const auto failed =
            ask_program({"systemctl", "list-units", "--state=failed", "--plain", "--no-legend", all}))
        facts.failed_units = first_words(*failed);
    if (const auto masked =
            ask_program({"systemctl", "list-unit-files", "--state=masked", "--plain", "--no-legend", all}))
        facts.masked_units = first_words(*masked);
    // Without a match it fails as it does without a journal.
    if (ask_program({"journalctl", "--dmesg", "--boot", "--quiet", "--lines=1"})) {
        const auto lines = ask_program({"journalctl", "--dmesg", "--boot", "--quiet", "--output=cat",
                                        "--lines=1000", "--grep=NVRM: Xid"})
                               .value_or("");
        facts.xid_lines = static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    }
}

} // namespace gpuhost::ctl
