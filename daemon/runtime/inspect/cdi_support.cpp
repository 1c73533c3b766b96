// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/cdi_support.hpp"

#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::runtime {

namespace {

/// The CDI version that specifications of GPUs need, because device names begin with digits.
constexpr std::string_view least = "0.5.0";
constexpr std::string_view groups = "0.7.0"; ///< needed for groups of device nodes

/// The first version of a runtime that reads CDI `newest`, because of its copy of the CDI library.
struct Support {
    RuntimeKind kind; ///< Containerd includes the distributions that bundle a containerd
    unsigned major;
    unsigned minor;
    unsigned patch;
    std::string_view newest;
};
/// Taken from go.mod of each runtime's releases, newest first.
constexpr std::array table{
    Support{RuntimeKind::Containerd, 1, 7, 16, groups}, Support{RuntimeKind::Containerd, 1, 7, 0, least},
    Support{RuntimeKind::Crio, 1, 30, 0, groups},       Support{RuntimeKind::Crio, 1, 25, 0, least},
    Support{RuntimeKind::Docker, 26, 1, 0, groups},     Support{RuntimeKind::Docker, 25, 0, 0, least},
    Support{RuntimeKind::Podman, 5, 1, 0, groups},      Support{RuntimeKind::Podman, 4, 3, 0, least}};

RuntimeKind family_of(RuntimeKind kind) {
    return is_containerd(kind) ? RuntimeKind::Containerd : kind;
}

} // namespace

std::string newest_cdi(RuntimeKind kind, const std::optional<RuntimeVersion>& version) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Support& one) {
        return one.kind == family_of(kind) && version &&
               version->is_at_least(one.major, one.minor, one.patch);
    });
    return found == table.end() ? "" : std::string(found->newest);
}

std::string first_with_cdi(RuntimeKind kind) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Support& one) {
        return one.kind == family_of(kind) && one.newest == least;
    });
    return std::to_string(found->major) + (found->minor == 0 ? "" : "." + std::to_string(found->minor));
}

bool reads_cdi(std::string_view newest, std::string_view version) {
    const auto wanted = parse_version(version);
    const auto known = parse_version(newest);
    return !wanted || (known && known->is_at_least(wanted->major, wanted->minor, wanted->patch));
}

std::string too_new_text(std::string_view version) {
    return "CDI is on, but this version does not read CDI " + std::string(version) +
           ", the version of gpuhostd's specifications: set Groups=auto in section [CDI]";
}

CdiReaders find_cdi_readers(const base::Root& host) {
    CdiReaders readers;
    const auto add = [&](const std::string& path) {
        if (!path.empty())
            readers.programs[path] = stamp_of(host, path);
    };
    for (const std::string& program : known_programs())
        add(program);
    for (RuntimeInstance& one : find_runtimes(host)) {
        add(one.executable);
        const bool is_here = one.pid != 0 || !one.executable.empty();
        if (!is_here || one.name == "docker-containerd")
            continue;
        if (!one.version && !one.is_replaced)
            one.version = ask_version(host, one.executable);
        const std::string newest = newest_cdi(one.kind, one.version);
        const bool is_old = !one.version || (!newest.empty() && !reads_cdi(newest, groups));
        if (is_old && readers.old.empty())
            readers.old = one.name + (one.version ? " " + one.version->text : " of unknown version");
    }
    return readers;
}

} // namespace gpuhost::runtime
