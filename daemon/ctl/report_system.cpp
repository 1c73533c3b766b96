// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report.hpp"
#include "daemon/ctl/system_query.hpp"

namespace gpuhost::ctl {

namespace {

std::string answer(const ReportInput& input, std::vector<std::string> argv) {
    if (!input.root.is_host())
        return "a mounted system: nothing runs\n";
    const std::string program = argv.front();
    return ask_program(std::move(argv)).value_or(program + " has no answer\n");
}

void add_files(const base::Root& root, const std::string& directory, std::vector<std::string>& paths) {
    for (const std::string& name : root.list(directory).value_or(std::vector<std::string>())) {
        const std::string path = directory + "/" + name;
        const auto found = root.stat(path);
        if (found && S_ISDIR(found->st_mode))
            add_files(root, path, paths);
        else if (found)
            paths.push_back(root.host_path(path));
    }
}

} // namespace

/// By a program with a deadline: the driver answers when its GPU does.
std::string report_driver_files(const ReportInput& input) {
    std::vector<std::string> argv{"head", "--verbose", "--bytes=65536"};
    const std::size_t none = argv.size();
    add_files(input.root, "/proc/driver/nvidia", argv);
    return argv.size() == none ? "there are none\n"
                               : ask_program(std::move(argv)).value_or("the driver has no answer\n");
}

std::string report_pci(const ReportInput& input) {
    return answer(input, {"lspci", "-d", "10de:", "-nnk", "-vv"});
}

std::string report_units(const ReportInput& input) {
    return answer(input,
                  {"systemctl", "--no-pager", "--all", "--lines=0", "--full", "list-units", "gpuhost*"}) +
           "\n" + answer(input, {"systemctl", "--no-pager", "list-unit-files", "gpuhost*"});
}

std::string report_journal(const ReportInput& input) {
    return answer(input, {"journalctl", "--no-pager", "--quiet", "--since=-3days", "--lines=5000",
                          "--output=short-iso", "--unit=gpuhost*"});
}

std::string report_kernel_log(const ReportInput& input) {
    return answer(input,
                  {"journalctl", "--no-pager", "--quiet", "--dmesg", "--boot", "--lines=2000",
                   "--output=short-iso", "--grep=nvidia|NVRM|nouveau|Xid|module verification|lockdown"});
}

} // namespace gpuhost::ctl
