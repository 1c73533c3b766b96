// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/package_owner.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Result;

namespace {

constexpr std::size_t output_limit = std::size_t{8} << 20U;

/// Returns the second path that the file has on a host with a merged /usr. dpkg knows only the path that the
/// package contains.
std::string other_name(const std::string& path) {
    if (base::starts_with(path, "/usr/lib") || base::starts_with(path, "/usr/bin") ||
        base::starts_with(path, "/usr/sbin"))
        return path.substr(4);
    return "/usr" + path;
}

Result<std::string> output_of(std::vector<std::string> argv) {
    base::Command command;
    command.argv = std::move(argv);
    command.output_limit = output_limit;
    command.drop_errors = true; // one error for each file that no package owns
    GPUHOST_TRY(finished, base::run(command));
    return std::move(finished.output);
}

/// Parses lines such as "libcuda1:amd64, other: /usr/lib/…". Skips "diversion by …", which names no owner.
Result<Owners> by_dpkg(const base::Root& root, const std::vector<std::string>& files) {
    std::vector<std::string> argv{"dpkg-query", "--admindir=" + root.host_path("/var/lib/dpkg"), "--search",
                                  "--"};
    for (const std::string& file : files) {
        argv.push_back(file);
        argv.push_back(other_name(file));
    }
    GPUHOST_TRY(output, output_of(std::move(argv)));
    Owners owners{"dpkg", {}, {}};
    std::set<std::string> owned;
    for (const std::string& line : base::split(output, '\n')) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos || base::starts_with(line, "diversion "))
            continue;
        owned.insert(line.substr(colon + 2));
        for (const std::string& name : base::split(line.substr(0, colon), ','))
            owners.packages.insert(std::string(base::trim(name.substr(0, name.find(':')))));
    }
    for (const std::string& file : files)
        if (!owned.contains(file) && !owned.contains(other_name(file)))
            owners.unowned.push_back(file);
    return owners;
}

/// Runs rpm for each file. For a file that no package owns, rpm prints a sentence on stdout.
Result<Owners> by_rpm(const base::Root& root, const std::vector<std::string>& files) {
    Owners owners{"rpm", {}, {}};
    for (const std::string& file : files) {
        GPUHOST_TRY(output,
                    output_of({"rpm", "--root=" + root.directory(), "-qf", "--qf", "%{NAME}\n", "--", file}));
        const std::string first = output.substr(0, output.find('\n'));
        if (first.empty() || first.find(' ') != std::string::npos)
            owners.unowned.push_back(file);
        else
            owners.packages.insert(first);
    }
    return owners;
}

} // namespace

Result<Owners> owners_of(const base::Root& root, const std::vector<std::string>& files) {
    if (root.exists("/var/lib/dpkg/status"))
        return by_dpkg(root, files);
    if (root.exists("/usr/lib/sysimage/rpm") || root.exists("/var/lib/rpm"))
        return by_rpm(root, files);
    return Owners{{}, {}, files};
}

std::string removal_command(const Owners& owners) {
    if (owners.packages.empty())
        return {};
    const std::vector<std::string> names(owners.packages.begin(), owners.packages.end());
    return (owners.manager == "dpkg" ? "apt-get remove " : "dnf remove ") + base::join(names, " ");
}

} // namespace gpuhost::ctl
