// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_list.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/module/index.hpp"
#include "kmod/module/info.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/module/modprobe_rules.hpp"
#include "kmod/select/driver_preflight.hpp"
#include "kmod/store/layout.hpp"
#include "kmod/trust/module_trust.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fcntl.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using core::Problem;
using core::StepContext;

constexpr std::uint64_t room_for_state = 64ULL << 20;
constexpr std::uint64_t room_for_index = 32ULL << 20;
constexpr std::string_view owner_hint = "Find the package that owns it: dpkg -S or rpm -qf. To replace a "
                                        "whole installed driver, see gpuhostctl driver adopt --dry-run.";

/// The end of a message about one file, and about several.
struct Verdict {
    const char* of_one;
    const char* of_some;
};

/// Adds one problem for each directory that contains some of `paths`, since another driver may have installed
/// dozens of files in it. `verdict` is the end of the sentence, for one file and for several.
void add_in_the_way(const std::vector<std::string>& paths, const Verdict& verdict,
                    std::vector<Problem>& problems) {
    std::map<std::string, std::vector<std::string>> by_directory;
    for (const std::string& path : paths)
        by_directory[path.substr(0, path.rfind('/'))].push_back(path);
    for (const auto& [directory, files] : by_directory)
        problems.push_back({Errc::AlreadyExists,
                            "'" + files.front() + "' " +
                                (files.size() == 1 ? verdict.of_one
                                                   : "and " + std::to_string(files.size() - 1) +
                                                         " more in that directory " + verdict.of_some),
                            std::string(owner_hint),
                            {{"paths", files}}});
}

/// Adds a problem for each file of a set that differs from its manifest. `way_out` is appended to the hint.
void check_set_of(const StepContext& context, const std::string& path, std::string_view way_out,
                  std::vector<Problem>& problems) {
    const auto checked = content::check_set(context.root, path);
    const std::string hint = mending_hint(path) + std::string(way_out);
    if (!checked)
        problems.push_back({Errc::BadContent, checked.error().message, hint});
    else
        for (const std::string& difference : *checked)
            problems.push_back({Errc::BadContent, path + "/" + difference, hint});
}

/// Returns the firmware files that nvidia.ko requests: "nvidia/550.163.01/gsp_ga10x.bin".
std::vector<std::string> wanted_firmware(const StepContext& context, const Driver& driver) {
    const std::string path = driver.modules + "/nvidia.ko";
    const auto fd = context.root.open_file(path, O_RDONLY);
    const auto file = fd ? base::MappedFile::open(fd->get(), path) : base::fail(fd.error());
    const auto info = file ? parse_module_info(file->view(), path) : base::fail(file.error());
    return info ? info->firmware : std::vector<std::string>();
}

/// Reports whether a firmware file exists: in the driver's userland, or in /lib/firmware, where it may be
/// compressed.
bool has_firmware(const StepContext& context, const Driver& driver, const std::string& wanted) {
    const std::string name = wanted.substr(wanted.rfind('/') + 1);
    if (!driver.userland.empty() && context.root.stat(driver.userland + "/firmware/" + name))
        return true;
    for (const char* suffix : {"", ".xz", ".zst"})
        if (context.root.stat("/lib/firmware/" + wanted + suffix))
            return true;
    return false;
}

bool has_any_firmware(const StepContext& context, const Driver& driver) {
    std::vector<std::string> directories{"/lib/firmware/nvidia/" + driver.generation.version};
    if (!driver.userland.empty())
        directories.push_back(driver.userland + "/firmware");
    for (const std::string& directory : directories)
        for (const std::string& name : context.root.list(directory).value_or(std::vector<std::string>()))
            if (base::starts_with(name, "gsp_"))
                return true;
    return false;
}

/// Adds a problem for each missing firmware file of open modules, which need firmware for every GPU. Does
/// nothing for proprietary modules, which work without it on older GPUs.
void check_firmware(const StepContext& context, const Driver& driver, std::vector<Problem>& problems) {
    if (driver.modules.find("-open/") == std::string::npos)
        return;
    const std::string hint = "Import firmware-nvidia-gsp of the same version.";
    const std::vector<std::string> files = wanted_firmware(context, driver);
    if (files.empty() && !has_any_firmware(context, driver))
        problems.push_back(
            {Errc::NotFound,
             "GSP firmware for driver " + driver.generation.version + " not found: its open modules need it",
             hint});
    for (const std::string& wanted : files)
        if (!has_firmware(context, driver, wanted))
            problems.push_back({Errc::NotFound,
                                "GSP firmware '" + wanted + "' not found: the open modules of driver " +
                                    driver.generation.version + " need it",
                                hint});
}

void check_room(const StepContext& context, const std::string& path, std::uint64_t needed,
                std::vector<Problem>& problems) {
    const auto free = context.root.free_bytes(path);
    if (free && *free < needed)
        problems.push_back({Errc::NoSpace,
                            path + ": " + std::to_string(needed >> 20) + " MiB are needed, but " +
                                std::to_string(*free >> 20) + " MiB are free",
                            "Free some space there."});
}

/// Adds a problem if the host has libraries of another driver with the names of this driver's libraries.
/// Programs might use the other driver's libraries.
void check_libraries(const StepContext& context, const Driver& driver, std::vector<Problem>& problems) {
    if (driver.userland.empty())
        return;
    std::vector<std::string> others;
    for (const std::string& name :
         context.root.list(driver.userland + "/lib").value_or(std::vector<std::string>()))
        for (const std::string_view directory : library_directories) {
            const std::string path = std::string(directory) + "/" + name;
            if (context.root.exists(path))
                others.push_back(path);
        }
    add_in_the_way(others, {"is another driver's library", "are another driver's libraries"}, problems);
}

/// Adds a problem for modprobe rules with which the host would load another driver at boot than the selected
/// one.
void check_modprobe_rules(const StepContext& context, std::vector<Problem>& problems) {
    add_in_the_way(rules_in_place_of_nvidia(context.root),
                   {"makes modprobe load another nvidia driver", "make modprobe load another nvidia driver"},
                   problems);
}

void check_digests(const StepContext& context, const Driver& driver, std::string_view way_out,
                   std::vector<Problem>& problems) {
    context.progress(-1, "checking driver " + driver.generation.version);
    check_set_of(context, driver.modules, way_out, problems);
    if (!driver.userland.empty())
        check_set_of(context, driver.userland, way_out, problems);
}

/// Adds a problem for each file that gpuhost did not create at a path that driver.select changes. Checks the
/// paths of apply and of undo, so that the undo cannot fail because of such a file.
void check_owners(const StepContext& context, const base::Json& args, std::vector<Problem>& problems) {
    std::set<std::string> paths;
    for (const char* const which : {"to", "from"}) {
        const SelectionFiles files = selection_files(context.root, args, which);
        for (const auto* operations : {&files.before_index, &files.after_index})
            for (const content::FileOperation& operation : *operations)
                paths.insert(operation.path);
    }
    std::vector<std::string> others(paths.begin(), paths.end());
    std::erase_if(others, [&](const std::string& path) { return content::is_ours(context.root, path); });
    add_in_the_way(others, {"was not created by gpuhost", "were not created by gpuhost"}, problems);
}

/// Checks the modules' signatures for a kernel that is not running. For the running kernel, the preflight of
/// modules.converge does that. Assumes that the kernel requires signatures if the running kernel does.
void check_signatures(StepContext& context, const std::string& kernel, const Driver& driver,
                      std::vector<Problem>& problems) {
    TrustRules rules = trust_rules(context.root, kernel);
    const std::string certificate =
        base::string_or(base::member(context.settings, "Driver"), "SigningCertificate", {});
    if (const auto added = add_certificate(rules, context.root, certificate); !added)
        context.warn("SigningCertificate=: " + added.error().message);
    for (const std::string& name : context.root.list(driver.modules).value_or(std::vector<std::string>())) {
        if (!base::ends_with(name, ".ko"))
            continue;
        const std::string path = driver.modules + "/" + name;
        const auto fd = context.root.open_file(path, O_RDONLY);
        const auto file = fd ? base::MappedFile::open(fd->get(), path) : base::fail(fd.error());
        if (!file) // check_digests() has reported it
            continue;
        if (auto problem = signature_problem(name.substr(0, name.size() - 3), file->view(), rules,
                                             [&](const std::string& text) { context.warn(text); }))
            problems.push_back(*std::move(problem));
    }
}

} // namespace

PreflightResult prepare_preflight(StepContext& context, const base::Json& args) {
    std::vector<Problem> problems;
    const auto driver = driver_from_json(base::member(args, "to"));
    if (!driver)
        return problems;
    check_digests(context, *driver, {}, problems);
    if (const std::string kernel = base::string_or(args, "kernel", "");
        kernel != kernel_release(context.root).value_or(""))
        check_signatures(context, kernel, *driver, problems);
    // Checks also the previous driver if it is loaded, because an undo loads it again.
    const auto from = driver_from_json(base::member(args, "from"));
    if (from && !(from->generation == driver->generation) && loaded_module(context.root, "nvidia"))
        check_digests(context, *from, " Or unload the driver (rmmod) to swap without undo.", problems);
    check_firmware(context, *driver, problems);
    check_room(context, std::string(store_directory), room_for_state, problems);
    check_room(context, "/lib/modules/" + base::string_or(args, "kernel", ""), room_for_index, problems);
    return problems;
}

PreflightResult select_preflight(StepContext& context, const base::Json& args) {
    std::vector<Problem> problems;
    const auto driver = driver_from_json(base::member(args, "to"));
    if (!driver)
        return problems;
    check_owners(context, args, problems);
    const char* const rival = "may be loaded instead of the selected driver";
    add_in_the_way(rivals(context.root, base::string_or(args, "kernel", ""), driver->modules), {rival, rival},
                   problems);
    check_libraries(context, *driver, problems);
    check_modprobe_rules(context, problems);
    return problems;
}

} // namespace gpuhost::kmod
