// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/core/settings.hpp"
#include "daemon/ctl/bundle/host_inventory.hpp"
#include "daemon/ctl/cli/system_query.hpp"
#include "daemon/ctl/report/report.hpp"
#include "daemon/runtime/cdi/spec_documents.hpp"
#include "daemon/runtime/inspect/documents.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {

using base::Root;

namespace {

std::string file(const Root& root, const std::string& path) {
    const auto text = root.read(path);
    return "# " + path + "\n" + (text ? *text : "# " + text.error().message) + "\n";
}

bool is_of_interest(const std::string& package) {
    constexpr std::array words{"gpuhost",       "nvidia",      "cuda",    "containerd", "docker",
                               "podman",        "cri-o",       "runc",    "crun",       "kernel",
                               "linux-headers", "linux-image", "kubelet", "mokutil",    "dkms"};
    for (const std::string_view word : words)
        if (package.find(word) != std::string::npos)
            return true;
    return false;
}

/// Returns lines such as "nvidia-driver-cuda 3:550.163.01-1.el9.x86_64", sorted.
std::string rpm_packages(const Root& root) {
    const ProgramAnswer answer =
        query_program({"rpm", "--root=" + root.directory(), "--query", "--all",
                       "--queryformat=%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}.%{ARCH}\\n"},
                      report_limit);
    std::vector<std::string> lines;
    for (const std::string& line : base::split(answer.text, '\n'))
        if (is_of_interest(line.substr(0, line.find(' '))))
            lines.push_back(line + "\n");
    std::sort(lines.begin(), lines.end());
    return base::join(lines, "") + (answer.is_cut ? "[the rest is left out]\n" : "") +
           (answer.problem.empty() ? "" : "[rpm " + answer.problem + "]\n");
}

} // namespace

std::string report_config(const ReportInput& input) {
    std::string text;
    for (const core::SettingsFile& file : core::settings_files(input.root))
        text += "# " + file.path + "\n" + (file.problem.empty() ? file.content : "# " + file.problem) + "\n";
    return text;
}

std::string report_runtimes(const ReportInput& input) {
    return report_document(runtime::list_runtimes(runtime::read_runtimes(input.root)));
}

std::string report_cdi(const ReportInput& input) {
    return report_document(runtime::list_devices(runtime::read_spec_files(input.root)));
}

std::string report_cluster(const ReportInput& input) {
    const auto text = input.root.read(cluster::status_file);
    if (!text)
        return report_document(base::to_json(text.error()));
    const auto json = base::parse_json(*text, "the status of gpuhost-cluster");
    return report_document(json ? *json : base::to_json(json.error()));
}

std::string report_inventory(const ReportInput& input) {
    if (const auto hanging = hanging_driver(input))
        return report_document(base::to_json(*hanging));
    const auto inventory = read_inventory(input.root);
    if (!inventory)
        return report_document(base::to_json(inventory.error()));
    const auto json = base::parse_json(images::to_text(*inventory), "inventory");
    return report_document(json ? *json : base::to_json(json.error()));
}

std::string report_modules(const ReportInput& input) {
    std::string text;
    for (const char* path :
         {"/proc/version", "/proc/cmdline", "/proc/modules", "/sys/kernel/security/lockdown"})
        text += file(input.root, path);
    std::vector<std::string> directories{"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                                         "/usr/lib/modprobe.d"};
    if (!input.root.read_link("/lib")) // if /lib is a link, this directory is in the list already
        directories.emplace_back("/lib/modprobe.d");
    for (const std::string& directory : directories)
        for (const std::string& name : input.root.list(directory).value_or(std::vector<std::string>()))
            text += file(input.root, directory + "/" + name);
    return text;
}

std::string report_os(const ReportInput& input) {
    return file(input.root, "/etc/os-release");
}

std::string report_packages(const ReportInput& input) {
    std::string text;
    for (const auto& [name, version] : debian_packages(input.root))
        if (is_of_interest(name))
            text += name + " " + version + "\n";
    // Checks both places of rpm's database, as owners_of() does, because EL moved it once.
    if (text.empty() && (input.root.exists("/usr/lib/sysimage/rpm") || input.root.exists("/var/lib/rpm")))
        text = rpm_packages(input.root);
    return text.empty() ? "no packages found by dpkg or rpm\n" : text;
}

} // namespace gpuhost::ctl
