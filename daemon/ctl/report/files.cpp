// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/core/settings.hpp"
#include "daemon/ctl/bundle/host_inventory.hpp"
#include "daemon/ctl/cli/system_query.hpp"
#include "daemon/ctl/report/redact.hpp"
#include "daemon/ctl/report/report.hpp"
#include "daemon/devices/publish/config_file.hpp"
#include "daemon/runtime/cdi/spec_documents.hpp"
#include "daemon/runtime/inspect/documents.hpp"
#include "daemon/settings/all_settings.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {

using base::Root;

namespace {

constexpr const char* left_out = "[left out]";

bool is_one_of(std::initializer_list<std::string_view> words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_of_gpu(std::string_view module) {
    return base::starts_with(module, "nvidia") || base::starts_with(module, "nouveau");
}

std::string whole_line(const std::string& line) {
    return line + "\n";
}

/// Returns a file's path and what `kept` returns for its lines.
std::string file(const Root& root, const std::string& path, std::string (*kept)(const std::string& line)) {
    const auto text = root.read(path);
    std::string made = "# " + path + "\n" + (text ? "" : "# " + text.error().message + "\n");
    for (const std::string& line : base::split(base::trim(text.value_or(std::string())), '\n'))
        made += kept(line);
    return made + "\n";
}

bool is_known_parameter(std::string_view name) {
    return is_of_gpu(name) ||
           is_one_of({"amd_iommu", "console", "default_hugepagesz", "efi", "hugepages", "hugepagesz", "init",
                      "intel_iommu", "iommu", "lockdown", "mem", "modprobe.blacklist", "module.sig_enforce",
                      "module_blacklist", "pci", "rd.driver.blacklist"},
                     name);
}

/// Splits the kernel's command line at blanks outside of double quotes, as the kernel does.
std::vector<std::string> parameters(const std::string& line) {
    std::vector<std::string> words{""};
    bool is_quoted = false;
    for (const char c : line) {
        if (c == '"')
            is_quoted = !is_quoted;
        if (!is_quoted && (c == ' ' || c == '\t'))
            words.emplace_back();
        else
            words.back() += c;
    }
    return words;
}

/// Returns the kernel's command line with the values of known parameters only.
std::string known_parameters(const std::string& line) {
    std::vector<std::string> words = parameters(line);
    for (std::string& word : words)
        if (const auto equals = word.find('=');
            equals != std::string::npos && !is_known_parameter(word.substr(0, equals)))
            word = word.substr(0, equals + 1) + left_out;
    return base::join(words, " ") + "\n";
}

/// Returns a rule of modprobe.d(5). Leaves out its comment, options of modules other than those of GPUs, and
/// commands other than a single program such as /bin/false.
std::string modprobe_rule(const std::string& whole) {
    const std::string line(base::trim(whole.substr(0, whole.find('#'))));
    const std::vector<std::string> words = base::split_words(line);
    if (words.size() < 2)
        return "";
    const bool is_command = is_one_of({"install", "remove"}, words[0]);
    if (is_one_of({"alias", "blacklist", "softdep"}, words[0]) ||
        (words[0] == "options" && is_of_gpu(words[1])) || (is_command && words.size() == 3))
        return line + "\n";
    return words[0] == "options" || is_command ? words[0] + " " + words[1] + " " + left_out + "\n" : "";
}

std::string known_os_field(const std::string& line) {
    return is_one_of({"BUILD_ID", "ID", "ID_LIKE", "IMAGE_ID", "IMAGE_VERSION", "NAME", "PLATFORM_ID",
                      "PRETTY_NAME", "VARIANT_ID", "VERSION", "VERSION_CODENAME", "VERSION_ID"},
                     line.substr(0, line.find('=')))
               ? line + "\n"
               : "";
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

/// Returns the settings that differ from the default, and problems. Unknown keys are only named.
std::string report_config(const ReportInput& input) {
    const core::LoadedSettings loaded = core::load_settings(input.root, setting_keys());
    std::string text;
    for (const core::Setting& setting : loaded.settings.all())
        if (setting.source != core::default_source)
            text += "[" + std::string(setting.key->section) + "] " + std::string(setting.key->key) + "=" +
                    setting.value + " # " + setting.source + "\n";
    for (const core::SettingsProblem& problem : loaded.problems)
        text += "# " + core::to_string(problem) + "\n";
    return redact(std::move(text));
}

/// Returns what gpuhostd takes from the file that ConfigFile= names, and its problems. The file itself is
/// left out, because the setting may name any file by mistake.
std::string report_config_file(const ReportInput& input) {
    const core::LoadedSettings loaded = core::load_settings(input.root, setting_keys());
    const devices::DevicesSettings settings = devices::devices_settings(loaded.settings);
    const devices::PluginConfig config = devices::read_config_file(input.root, settings);
    base::Json problems = base::Json::array();
    for (const core::SettingsProblem& problem : config.problems)
        problems.push_back(redact(core::to_string(problem)));
    return report_document(base::Json{{"file", settings.config_file},
                                      {"sharing", devices::to_json(config.sharing)},
                                      {"problems", std::move(problems)}});
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
    auto json = base::parse_json(*text, "the status of gpuhost-cluster");
    if (!json || !json->is_object())
        return report_document(json ? base::Json() : base::to_json(json.error()));
    base::Json known = base::Json::object();
    for (const char* key : {"server", "user", "node", "state", "request", "retry_at", "error", "conditions",
                            "published", "taints", "upgrade", "leader"})
        known[key] = base::member(*json, key);
    return report_document(std::move(known));
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
    std::string text = file(input.root, "/proc/cmdline", known_parameters);
    for (const char* path : {"/proc/version", "/proc/modules", "/sys/kernel/security/lockdown"})
        text += file(input.root, path, whole_line);
    std::vector<std::string> directories{"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                                         "/usr/lib/modprobe.d"};
    if (!input.root.read_link("/lib")) // if /lib is a link, this directory is in the list already
        directories.emplace_back("/lib/modprobe.d");
    for (const std::string& directory : directories)
        for (const std::string& name : input.root.list(directory).value_or(std::vector<std::string>()))
            text += file(input.root, directory + "/" + name, modprobe_rule);
    return text;
}

std::string report_os(const ReportInput& input) {
    return file(input.root, "/etc/os-release", known_os_field);
}

std::string report_packages(const ReportInput& input) {
    std::string text;
    for (const auto& [name, version] : debian_packages(input.root))
        if (is_of_interest(name))
            text += name + " " + version + "\n";
    // Checks both places of rpm's database, as owners_of() does, because EL moved the database once.
    if (text.empty() && (input.root.exists("/usr/lib/sysimage/rpm") || input.root.exists("/var/lib/rpm")))
        text = rpm_packages(input.root);
    return text.empty() ? "no packages found by dpkg or rpm\n" : text;
}

} // namespace gpuhost::ctl
