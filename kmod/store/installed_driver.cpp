// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/installed_driver.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/archive/archive.hpp"
#include "kmod/module/file.hpp"
#include "kmod/module/info.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/module/modprobe_rules.hpp"
#include "kmod/store/layout.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t index_limit = 16U << 20;
constexpr std::size_t module_limit = 512U << 20; ///< bytes of an uncompressed module with debug information

#if defined(__aarch64__)
constexpr std::string_view triplet = "/usr/lib/aarch64-linux-gnu";
#else
constexpr std::string_view triplet = "/usr/lib/x86_64-linux-gnu";
#endif

/// Names of the programs of NVIDIA's driver. Other names begin with "nvidia-" too, such as those of the
/// container toolkit.
constexpr std::array<std::string_view, 10> program_names{"nvidia-smi",
                                                         "nvidia-debugdump",
                                                         "nvidia-persistenced",
                                                         "nvidia-modprobe",
                                                         "nvidia-powerd",
                                                         "nvidia-cuda-mps-server",
                                                         "nvidia-cuda-mps-control",
                                                         "nvidia-bug-report.sh",
                                                         "nvidia-ngx-updater",
                                                         "nvidia-pcc"};

/// Units of NVIDIA's driver. nvidia-fabricmanager, nvidia-dcgm and nvidia-cdi-refresh are not listed: they
/// belong to other packages, which are not removed with the driver.
constexpr std::array<std::string_view, 7> unit_names{
    "nvidia-persistenced.service", "nvidia-powerd.service",    "nvidia-suspend.service",
    "nvidia-resume.service",       "nvidia-hibernate.service", "nvidia-suspend-then-hibernate.service",
    "nvidia-fallback.service"};

std::vector<std::string> list(const base::Root& root, const std::string& directory) {
    return root.list(directory).value_or(std::vector<std::string>());
}

bool is_plain_file(const base::Root& root, const std::string& path) {
    const auto st = root.stat(path);
    return st && S_ISREG(st->st_mode) && !root.read_link(path);
}

Result<ModuleInfo> info_of(const base::Root& root, const std::string& path) {
    GPUHOST_TRY(fd, root.open_file(path, O_RDONLY));
    if (base::ends_with(path, ".ko")) {
        GPUHOST_TRY(file, base::MappedFile::open(fd.get(), path));
        return parse_module_info(file.view(), path);
    }
    GPUHOST_TRY(archive, content::ArchiveReader::open(fd.get(), content::ArchiveFormat::Raw, path));
    GPUHOST_TRY(entry, archive.next());
    if (!entry)
        return base::fail(Errc::BadContent, path + ": is empty");
    GPUHOST_TRY(image, archive.read_all(module_limit));
    return parse_module_info(image, path);
}

struct Found {
    std::string path;
    ModuleInfo info;
};

/// Returns NVIDIA's modules for the kernel, except those of the store.
std::vector<Found> installed_modules(const base::Root& root, const std::string& kernel) {
    const std::string directory = "/lib/modules/" + kernel + "/";
    const std::string index = root.read(directory + "modules.dep", index_limit).value_or(std::string());
    std::vector<Found> modules;
    for (const std::string& path : indexed_modules(index)) {
        if (base::starts_with(path, "updates/gpuhost/") ||
            !base::starts_with(path.substr(path.rfind('/') + 1), "nvidia"))
            continue;
        const std::string file = path.front() == '/' ? path : directory + path;
        auto info = info_of(root, file);
        if (info && base::starts_with(info->name, "nvidia") && base::is_driver_version(info->version))
            modules.push_back({file, std::move(*info)});
    }
    return modules;
}

bool is_loaded(const ModuleInfo& info, const std::vector<LoadedModule>& loaded) {
    return std::any_of(loaded.begin(), loaded.end(), [&](const LoadedModule& one) {
        return one.name == "nvidia" && one.srcversion == info.srcversion;
    });
}

/// Returns the installed module nvidia; if there are several, the loaded one. Null: there is none. Fails with
/// BadContent if there are several and none of them is loaded.
Result<const Found*> chosen(const std::vector<Found>& modules, const std::string& kernel,
                            const std::vector<LoadedModule>& loaded) {
    std::vector<const Found*> candidates;
    std::vector<std::string> paths;
    for (const Found& module : modules) {
        if (module.info.name != "nvidia")
            continue;
        if (is_loaded(module.info, loaded))
            return &module;
        candidates.push_back(&module);
        paths.push_back(module.path);
    }
    if (candidates.size() > 1)
        return base::fail(Errc::BadContent,
                          "kernel " + kernel + " has several installed drivers, and none is loaded: " +
                              base::join(paths, ", "),
                          "Load one (modprobe nvidia), or remove the packages of the others.");
    return candidates.empty() ? nullptr : candidates.front();
}

/// Returns a module's path without its suffix: "/lib/modules/…/nvidia-current.ko.xz" →
/// "/lib/modules/…/nvidia-current".
std::string stem(const std::string& path) {
    return path.substr(0, path.find(".ko", path.rfind('/')));
}

/// Adds the modules that belong to the module `nvidia`, by their file names. Debian may have
/// "nvidia-current-uvm.ko" and "nvidia-current-open-uvm.ko": with nvidia-current.ko, only the first belongs.
/// The license cannot decide this, because the license of nvidia-peermem differs from that of the others.
void add_modules(const std::vector<Found>& modules, const Found& nvidia, InstalledDriver& driver) {
    driver.version = nvidia.info.version;
    driver.flavour = nvidia.info.flavour();
    for (const Found& module : modules) {
        std::string suffix = module.info.name.substr(std::string_view("nvidia").size());
        std::replace(suffix.begin(), suffix.end(), '_', '-');
        if (module.info.version == driver.version && stem(module.path) == stem(nvidia.path) + suffix)
            driver.modules.push_back(module.path);
    }
    std::sort(driver.modules.begin(), driver.modules.end());
}

/// Returns the version of libcuda or libnvidia-ml, for a host without modules; empty if neither is found.
std::string version_of_libraries(const base::Root& root, const std::vector<std::string>& directories) {
    for (const std::string& directory : directories)
        for (const std::string& name : list(root, directory))
            for (const std::string_view prefix : {"libnvidia-ml.so.", "libcuda.so."})
                if (base::starts_with(name, prefix) && base::is_driver_version(name.substr(prefix.size())) &&
                    is_plain_file(root, directory + "/" + name))
                    return name.substr(prefix.size());
    return {};
}

std::vector<std::string> own_library_directories(const base::Root& root) {
    std::vector<std::string> directories{std::string(triplet), std::string(triplet) + "/nvidia/current",
                                         "/usr/lib64"};
    std::erase_if(directories,
                  [&](const std::string& directory) { return root.read_link(directory).has_value(); });
    return directories;
}

void add_userland(const base::Root& root, const std::vector<std::string>& directories,
                  InstalledDriver& driver) {
    const std::string suffix = ".so." + driver.version;
    for (const std::string& directory : directories)
        for (const std::string& name : list(root, directory))
            if (base::starts_with(name, "lib") && base::ends_with(name, suffix) &&
                is_plain_file(root, directory + "/" + name))
                driver.libraries.push_back(directory + "/" + name);
    for (const std::string directory : {"/usr/bin", "/usr/sbin", "/usr/lib/nvidia/current"})
        for (const std::string_view name : program_names)
            if (const std::string path = directory + "/" + std::string(name);
                !root.read_link(directory) && is_plain_file(root, path))
                driver.programs.push_back(path);
    const std::string firmware = "/lib/firmware/nvidia/" + driver.version;
    if (!root.read_link(firmware))
        for (const std::string& name : list(root, firmware))
            driver.firmware.push_back(firmware + "/" + name);
}

void add_surroundings(const base::Root& root, InstalledDriver& driver) {
    for (const std::string_view directory : {"/etc/systemd/system/", "/usr/lib/systemd/system/"})
        for (const std::string_view name : unit_names)
            if (const std::string path = std::string(directory) + std::string(name); root.exists(path))
                driver.units.push_back(path);
    driver.rules = rules_in_place_of_nvidia(root);
    for (const std::string& name : list(root, "/usr/src"))
        if (const std::string conf = "/usr/src/" + name + "/dkms.conf";
            base::starts_with(name, "nvidia") && base::ends_with(name, "-" + driver.version) &&
            root.exists(conf))
            driver.sources.push_back(conf);
    for (const std::string& name : list(root, "/var/lib/dkms"))
        if (const std::string path = "/var/lib/dkms/" + name;
            base::starts_with(name, "nvidia") && root.exists(path + "/" + driver.version))
            driver.dkms.push_back(path);
    if (root.exists("/usr/bin/nvidia-uninstall"))
        driver.uninstaller = "/usr/bin/nvidia-uninstall";
}

/// Returns whether the files of apt.conf(5) enable APT::Periodic::Unattended-Upgrade. If there are several
/// values, the last one in order of file names is used.
bool upgrades_unattended(const base::Root& root) {
    std::vector<std::string> names = list(root, "/etc/apt/apt.conf.d");
    std::sort(names.begin(), names.end());
    bool are = false;
    for (const std::string& name : names)
        for (const std::string& line :
             base::split(root.read("/etc/apt/apt.conf.d/" + name).value_or(std::string()), '\n'))
            if (const auto words = base::split_words(line);
                words.size() == 2 && words[0] == "APT::Periodic::Unattended-Upgrade")
                are = words[1] != "\"0\";";
    return are;
}

void add_disturbers(const base::Root& root, InstalledDriver& driver) {
    if (upgrades_unattended(root))
        driver.disturbers.emplace_back(
            "unattended-upgrades may replace its libraries while modules of another version are loaded");
    for (const std::string& name : list(root, "/etc/systemd/system/timers.target.wants"))
        if (base::starts_with(name, "dnf-automatic"))
            driver.disturbers.push_back(
                name + " may replace its libraries while modules of another version are loaded");
    if (!driver.dkms.empty())
        driver.disturbers.emplace_back("DKMS builds it for each kernel that a package installs");
    for (const PciGpu& gpu : nvidia_gpus(root))
        if (gpu.driver == "nouveau")
            driver.disturbers.push_back("nouveau drives the GPU " + gpu.address + " instead");
}

} // namespace

std::vector<std::string> InstalledDriver::traces() const {
    std::vector<std::string> all = files();
    for (const auto* more : {&units, &rules, &sources})
        all.insert(all.end(), more->begin(), more->end());
    return all;
}

std::vector<std::string> InstalledDriver::files() const {
    std::vector<std::string> all = modules;
    for (const auto* more : {&libraries, &programs, &firmware})
        all.insert(all.end(), more->begin(), more->end());
    return all;
}

Result<std::optional<InstalledDriver>> find_installed_driver(const base::Root& root,
                                                             const std::string& kernel) {
    InstalledDriver driver;
    driver.kernel = kernel;
    const std::vector<LoadedModule> loaded = loaded_driver(root);
    const std::vector<Found> modules = installed_modules(root, kernel);
    GPUHOST_TRY(nvidia, chosen(modules, kernel, loaded));
    const std::vector<std::string> directories = own_library_directories(root);
    if (nvidia != nullptr)
        add_modules(modules, *nvidia, driver);
    else
        driver.version = version_of_libraries(root, directories);
    if (driver.version.empty())
        return std::optional<InstalledDriver>();
    driver.loaded = nvidia != nullptr && is_loaded(nvidia->info, loaded);
    add_userland(root, directories, driver);
    add_surroundings(root, driver);
    add_disturbers(root, driver);
    return std::optional(std::move(driver));
}

namespace {

/// Returns the links in the directories of `files` that lead to one of `files`, also through another link.
std::vector<std::string> links_to(const base::Root& root, const std::vector<std::string>& files) {
    std::set<std::string> reached(files.begin(), files.end());
    std::set<std::string> directories;
    for (const std::string& file : files)
        directories.insert(file.substr(0, file.rfind('/') + 1));
    std::map<std::string, std::string> targets;
    for (const std::string& directory : directories)
        for (const std::string& name : root.list(directory).value_or(std::vector<std::string>()))
            if (const auto target = root.read_link(directory + name))
                targets[directory + name] = base::starts_with(*target, "/") ? *target : directory + *target;
    std::vector<std::string> links;
    for (bool found = true; std::exchange(found, false);)
        for (const auto& [link, target] : targets)
            if (reached.count(target) != 0 && reached.insert(link).second) {
                links.push_back(link);
                found = true;
            }
    return links;
}

} // namespace

std::vector<std::string> files_to_remove(const base::Root& root, const InstalledDriver& driver) {
    std::vector<std::string> paths = driver.files();
    const std::string suffix = ".so." + driver.version;
    for (const std::string_view directory : library_directories)
        for (const std::string& name : list(root, std::string(directory)))
            if (const std::string path = std::string(directory) + "/" + name;
                base::starts_with(name, "lib") && base::ends_with(name, suffix) && is_plain_file(root, path))
                paths.push_back(path);
    const std::vector<std::string> links = links_to(root, paths);
    paths.insert(paths.end(), links.begin(), links.end());
    return paths;
}

base::Json to_json(const InstalledDriver& driver) {
    return {{"version", driver.version},
            {"kernel", driver.kernel},
            {"flavour", driver.flavour},
            {"loaded", driver.loaded},
            {"modules", driver.modules},
            {"libraries", driver.libraries},
            {"programs", driver.programs},
            {"firmware", driver.firmware},
            {"units", driver.units},
            {"rules", driver.rules},
            {"sources", driver.sources},
            {"dkms", driver.dkms},
            {"uninstaller", driver.uninstaller},
            {"disturbers", driver.disturbers}};
}

} // namespace gpuhost::kmod
