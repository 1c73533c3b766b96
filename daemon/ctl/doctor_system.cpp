// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/ctl/doctor_facts.hpp"

#include <algorithm>

#include <unistd.h>

namespace gpuhost::ctl {

namespace {

constexpr std::chrono::seconds patience{10};

/// Its output, or nothing where it can't be started or fails.
std::optional<std::string> output_of(std::vector<std::string> argv) {
    base::Command command;
    command.argv = std::move(argv);
    command.deadline = patience;
    command.drop_errors = true;
    const auto finished = base::run(command);
    if (!finished || finished->exit_status != 0 || finished->timed_out)
        return std::nullopt;
    return finished->output;
}

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
            output_of({"systemctl", "list-units", "--state=failed", "--plain", "--no-legend", all}))
        facts.failed_units = first_words(*failed);
    if (const auto masked =
            output_of({"systemctl", "list-unit-files", "--state=masked", "--plain", "--no-legend", all}))
        facts.masked_units = first_words(*masked);
    // Without a match it fails as it does without a journal.
    if (output_of({"journalctl", "--dmesg", "--boot", "--quiet", "--lines=1"})) {
        const auto lines = output_of({"journalctl", "--dmesg", "--boot", "--quiet", "--output=cat",
                                      "--lines=1000", "--grep=NVRM: Xid"})
                               .value_or("");
        facts.xid_lines = static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    }
}

} // namespace gpuhost::ctl
