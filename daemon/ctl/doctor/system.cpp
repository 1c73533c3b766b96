// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/ctl/cli/system_query.hpp"
#include "daemon/ctl/doctor/facts.hpp"

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view xid_mark = "NVRM: Xid";

/// Returns the first word of each line.
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

/// Returns the lines of this boot's kernel log that `chosen`, an option of journalctl, selects; empty: none.
/// Fails if the log can't be read.
Result<std::string> kernel_log(const std::string& chosen) {
    base::Command command;
    command.argv = {"journalctl", "--dmesg", "--boot", "--quiet", "--output=cat", chosen};
    command.deadline = std::chrono::seconds(10);
    GPUHOST_TRY(finished, base::run(command));
    if (finished.timed_out)
        return base::fail(Errc::Timeout, "journalctl timed out after ten seconds");
    // If --grep= finds nothing, journalctl exits with status 1, as after an error, but prints nothing.
    if (finished.exit_status > 1 || (finished.exit_status == 1 && !finished.output.empty()))
        return base::fail(Errc::Failed, "journalctl exited with status " +
                                            std::to_string(finished.exit_status) + ": " +
                                            finished.output.substr(0, finished.output.find('\n')));
    return std::move(finished.output);
}

/// Returns the lines with Xid errors. Fails with AccessDenied if the kernel log is empty, because journalctl
/// prints nothing to a user who can't read it.
Result<std::string> xid_log() {
    GPUHOST_TRY(newest, kernel_log("--lines=1"));
    if (newest.empty())
        return base::fail(Errc::AccessDenied,
                          "journalctl shows no kernel log of this boot, which root may read");
    return kernel_log("--grep=" + std::string(xid_mark));
}

void find_gpu_log(DoctorFacts& facts) {
    const std::vector<std::string> unserved = unserved_gpus(facts);
    if (unserved.empty() || facts.loaded.empty())
        return;
    std::vector<std::string> devices;
    devices.reserve(unserved.size());
    for (const std::string& address : unserved)
        devices.push_back(address.substr(0, address.rfind('.')));
    const std::string log = kernel_log("--grep=" + base::join(devices, "|")).value_or(std::string());
    for (const std::string& address : unserved)
        if (std::string line = log_line_on(log, address); !line.empty())
            facts.gpu_log[address] = std::move(line);
}

std::uint64_t count_xid(std::string_view log) {
    std::uint64_t count = 0;
    for (auto at = log.find(xid_mark); at != std::string_view::npos; at = log.find(xid_mark, at + 1))
        ++count;
    return count;
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
    const auto log = xid_log();
    if (log) {
        facts.xid_lines = count_xid(*log);
        facts.xids = xids_of(*log);
    } else {
        facts.xid_unseen = log.error().message;
    }
    find_gpu_log(facts);
}

} // namespace gpuhost::ctl
