// SPDX-License-Identifier: Apache-2.0
#include "kmod/units/companion_services.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/mapped_file.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/layout.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>

namespace gpuhost::kmod {
namespace {

using base::contains;
using base::Errc;
using core::Problem;

struct CompanionService {
    std::string_view unit;
    std::string_view program;
    std::string_view package;
    std::array<std::string_view, 2> others; ///< other programs of the same package
};
constexpr std::string_view fabric_manager = "nvidia-fabricmanager.service";
/// The companion services. nvidia-persistenced is not one: it works with every driver of its branch.
constexpr std::array parts{
    CompanionService{fabric_manager,
                     "nv-fabricmanager",
                     "nvidia-fabricmanager",
                     {"nvidia-fabricmanager-start.sh", "nvswitch-audit"}},
    CompanionService{"nvidia-imex.service", "nvidia-imex", "nvidia-imex", {"nvidia-imex-ctl"}}};

struct SwitchLibrary {
    std::string_view name;
    std::string_view package;
};
/// The first is for NVSwitches on PCI, the second for those since Blackwell, which are InfiniBand devices.
constexpr std::array switch_libraries{SwitchLibrary{"libnvidia-nscq.so.2", "libnvidia-nscq"},
                                      SwitchLibrary{"libnvsdm.so.1", "libnvsdm"}};

/// Returns whether a program or library is of this driver version: its file contains the version as text.
bool is_of(const base::Root& root, const std::string& path, const std::string& version) {
    const auto fd = root.open_file(path, O_RDONLY);
    const auto file = fd ? base::MappedFile::open(fd->get(), path) : base::fail(fd.error());
    return file && file->view().find(version) != std::string_view::npos;
}

std::string host_path(const CompanionService& part) {
    return "/usr/bin/" + std::string(part.program);
}

/// Returns the path of a library in the driver's userland, else in the host's library directories. Empty: not
/// found.
std::string library_path(const base::Root& root, const std::string& userland, std::string_view name) {
    std::vector<std::string> directories(library_directories.begin(), library_directories.end());
    if (!userland.empty())
        directories.insert(directories.begin(), userland + "/lib");
    for (const std::string& directory : directories)
        if (std::string path = directory + "/" + std::string(name); root.exists(path))
            return path;
    return {};
}

} // namespace

std::string_view unit_of_companion_service(std::string_view program) {
    for (const CompanionService& part : parts)
        if (part.program == program || contains(part.others, program))
            return part.unit;
    return {};
}

std::vector<std::string> packaged_units(const base::Root& root) {
    std::vector<std::string> units;
    for (const CompanionService& part : parts)
        if (const std::string path = host_path(part); root.exists(path) && !content::is_ours(root, path))
            units.emplace_back(part.unit);
    return units;
}

content::FileOperation unit_drop_in(std::string_view unit, const std::string& directory) {
    const auto* const part = std::find_if(parts.begin(), parts.end(),
                                          [&](const CompanionService& known) { return known.unit == unit; });
    return {content::FileOperation::Type::Write,
            "/etc/systemd/system/" + std::string(unit) + ".d/50-gpuhost.conf",
            std::string(content::file_mark) + "[Service]\nBindReadOnlyPaths=-" + directory + "/" +
                std::string(part->program) + ":" + host_path(*part) + "\n"};
}

std::vector<Problem> check_companion_services(const base::Root& root, const std::string& userland,
                                              const std::string& version,
                                              const std::vector<std::string>& units) {
    std::vector<Problem> problems;
    for (const CompanionService& part : parts) {
        if (!contains(units, part.unit))
            continue;
        const std::string name(part.program);
        const std::string own = userland + "/bin/" + name;
        const std::string path = !userland.empty() && root.exists(own) ? own : host_path(part);
        if (root.exists(path) && !is_of(root, path, version))
            problems.push_back(
                {Errc::Unsupported,
                 std::string(part.unit) + " runs '" + path + "', which is not of driver " + version +
                     " and does not start with it",
                 "Import " + std::string(part.package) + " of version " + version +
                     " with the driver, or remove the unit from ClientUnits= and manage it yourself."});
    }
    return problems;
}

std::vector<std::string> unfit_switch_libraries(const base::Root& root, const std::string& userland,
                                                const std::string& version,
                                                const std::vector<std::string>& units) {
    std::vector<std::string> sentences;
    if (!has_nvswitches(root) && !contains(units, fabric_manager))
        return sentences;
    for (const SwitchLibrary& library : switch_libraries)
        if (const std::string path = library_path(root, userland, library.name);
            !path.empty() && !is_of(root, path, version))
            sentences.push_back("'" + path + "' is not of driver " + version +
                                ": DCGM does not find NVSwitches with it; install or import " +
                                std::string(library.package) + " of that version");
    return sentences;
}

} // namespace gpuhost::kmod
