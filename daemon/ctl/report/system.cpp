// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/system_query.hpp"
#include "daemon/ctl/report/newest_first.hpp"
#include "daemon/ctl/report/redact.hpp"
#include "daemon/ctl/report/report.hpp"

namespace gpuhost::ctl {

namespace {

std::string problem_of(const std::string& program, const ProgramAnswer& answer) {
    return answer.problem.empty() ? "" : "[" + program + " " + answer.problem + "]\n";
}

std::string answer(const ReportInput& input, std::vector<std::string> argv) {
    if (!input.root.is_host())
        return "a mounted system: nothing runs\n";
    const std::string program = argv.front();
    const ProgramAnswer answer = query_program(std::move(argv), report_limit);
    return answer.text + (answer.is_cut ? "\n[the rest is left out]\n" : "") + problem_of(program, answer);
}

/// Returns the newest entries that fit into report_limit. journalctl exits with status 1 if --grep= finds
/// nothing.
std::string journal(const ReportInput& input, std::vector<std::string> arguments) {
    if (!input.root.is_host())
        return "a mounted system: nothing runs\n";
    std::vector<std::string> argv{"journalctl", "--no-pager", "--quiet", "--output=short-iso", "--reverse"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const ProgramAnswer answer = query_program(std::move(argv), report_limit);
    // A timeout may cut the output in the middle of an entry.
    const bool is_torn = answer.is_cut || (!answer.text.empty() && answer.text.back() != '\n');
    return problem_of("journalctl", answer) + (is_torn ? "[older entries are left out]\n" : "") +
           oldest_first(answer.text, is_torn);
}

} // namespace

std::string report_pci(const ReportInput& input) {
    return answer(input, {"lspci", "-d", "10de:", "-nnk", "-vv"});
}

std::string report_units(const ReportInput& input) {
    return answer(input,
                  {"systemctl", "--no-pager", "--all", "--lines=0", "--full", "list-units", "gpuhost*"}) +
           "\n" + answer(input, {"systemctl", "--no-pager", "list-unit-files", "gpuhost*"});
}

std::string report_journal(const ReportInput& input) {
    return redact(journal(input, {"--since=-3days", "--unit=gpuhost*"}));
}

/// Returns the messages that begin like those about GPUs and modules, and lines of a stack trace that name
/// NVIDIA's modules. The kernel also logs its command line, which is not among these. Messages that programs
/// write to /dev/kmsg never have the facility 0, so they are left out.
std::string report_kernel_log(const ReportInput& input) {
    return journal(input,
                   {"--dmesg", "--boot",
                    "--grep=^(NVRM|nvidia|nouveau|\\[drm\\] \\[nvidia|Lockdown|Kernel is locked down|"
                    "Loading of |INFO: task nv|Modules linked in:|watchdog: BUG)|/0x[0-9a-f]+ \\[nvidia",
                    "SYSLOG_FACILITY=0"});
}

} // namespace gpuhost::ctl
