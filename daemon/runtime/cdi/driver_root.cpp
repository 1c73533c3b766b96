// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/driver_root.hpp"

#include "daemon/base/elf.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi/file_search.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr std::string_view driver_store = "/var/lib/gpuhost/driver";
constexpr std::string_view current_userland = "/var/lib/gpuhost/driver/current";
#if defined(__aarch64__)
constexpr std::string_view container_libraries = "/usr/lib/aarch64-linux-gnu";
constexpr std::string_view vulkan_of_machine = "vulkan/icd.d/nvidia_icd.aarch64.json";
#else
constexpr std::string_view container_libraries = "/usr/lib/x86_64-linux-gnu";
constexpr std::string_view vulkan_of_machine = "vulkan/icd.d/nvidia_icd.x86_64.json";
#endif

constexpr std::array<std::string_view, 7> programs{"nvidia-smi",
                                                   "nvidia-debugdump",
                                                   "nvidia-persistenced",
                                                   "nvidia-cuda-mps-control",
                                                   "nvidia-cuda-mps-server",
                                                   "nvidia-imex",
                                                   "nvidia-imex-ctl"};
constexpr std::array<std::string_view, 5> egl_platforms{"libnvidia-egl-gbm", "libnvidia-egl-wayland",
                                                        "libnvidia-egl-wayland2", "libnvidia-egl-xcb",
                                                        "libnvidia-egl-xlib"};
constexpr std::array<std::string_view, 9> shared_configs{
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "egl/egl_external_platform.d/09_nvidia_wayland2.json",
    "egl/egl_external_platform.d/20_nvidia_xcb.json",
    "egl/egl_external_platform.d/20_nvidia_xlib.json",
    "nvidia/nvoptix.bin",
    "X11/xorg.conf.d/10-nvidia.conf",
    "X11/xorg.conf.d/nvidia-drm-outputclass.conf"};
constexpr std::string_view opencl_config = "OpenCL/vendors/nvidia.icd";
constexpr std::array<std::string_view, 4> vulkan_configs{
    "vulkan/icd.d/nvidia_icd.json", "vulkan/icd.d/nvidia_layers.json",
    "vulkan/implicit_layer.d/nvidia_layers.json", vulkan_of_machine};
constexpr std::array<std::string_view, 2> daemon_sockets{"nvidia-persistenced/socket",
                                                         "nvidia-fabricmanager/socket"};

/// Directories to search for the parts of a driver, in order.
struct Places {
    std::vector<std::string> libraries;
    std::vector<std::string> more_libraries; ///< searched if `libraries` contains no matching file
    std::vector<std::string> programs;
    std::vector<std::string> firmware; ///< for all driver versions
    std::vector<std::string> configs;
    std::vector<std::string> configs_of_vulkan;
    std::vector<std::string> xorg; ///< in addition to those below the library directories
    /// Path prefixes on the host and in the container. Other paths are the same in both.
    std::vector<std::pair<std::string, std::string>> moved;
};

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// Returns "libcuda.so" for "libcuda.so.1"; empty if the name is not a library's.
std::string without_numbers(const std::string& name) {
    const auto end = name.rfind(".so.");
    if (end != std::string::npos)
        return name.substr(0, end + 3);
    return base::ends_with(name, ".so") ? name : "";
}

/// Returns the soname of an ELF file, or the file's name if it has no soname, as linkers do. "" if the file
/// is not a readable ELF file.
std::string soname_of(const Root& root, const std::string& path) {
    const auto fd = root.open_file(path, O_RDONLY | O_NONBLOCK); // fails for anything but a file
    const auto file = fd ? base::MappedFile::open(fd->get(), path) : base::fail(fd.error());
    const auto elf = file ? base::Elf::parse(file->view(), path) : base::fail(file.error());
    if (!elf)
        return "";
    return elf->soname().value_or(name_of(path));
}

/// Returns the path on the host of the file `path` in the driver's root at `prefix`. Links in `path` are
/// resolved as in the driver's root. If the host would resolve these links to another file, returns the path
/// of the links' target instead.
std::string on_host(const Root& host, const Root& root, const std::string& prefix, const std::string& path) {
    const auto inside = real_path(root, path);
    const auto outside = real_path(host, prefix + path);
    const bool same = prefix.empty() || !inside || (outside && *outside == prefix + *inside);
    return prefix + (same ? path : *inside);
}

class DriverReader {
  public:
    DriverReader(const Root& host, const Root& root, std::string prefix, Places places)
        : host_(host), root_(root), prefix_(std::move(prefix)), places_(std::move(places)), search_(root) {}

    [[nodiscard]] Result<DriverFiles> read() {
        files_.version = find_version();
        if (files_.version.empty())
            return base::fail(Errc::NotFound, "no NVIDIA driver found below '" + root_.directory() + "'",
                              "Load one with 'gpuhostctl driver swap', install the distribution's, or name "
                              "its directory with --driver-root.");
        for (const std::string& library : libraries("lib*.so." + files_.version))
            if (const std::string directory = directory_of(library);
                std::find(directories_.begin(), directories_.end(), directory) == directories_.end())
                directories_.push_back(directory);
        for (const std::string& directory : directories_)
            files_.library_directories.push_back(in_container(directory));
        read_libraries();
        read_graphics();
        read_firmware();
        for (const std::string_view program : programs)
            add_program(files_.programs, program);
        return std::move(files_);
    }

  private:
    [[nodiscard]] std::string in_container(const std::string& path) const {
        for (const auto& [from, to] : places_.moved)
            if (path == from || base::starts_with(path, from + "/"))
                return to + path.substr(from.size());
        return path;
    }

    void add(std::vector<DriverFile>& files, const std::string& path) const {
        add(files, path, in_container(path));
    }

    void add(std::vector<DriverFile>& files, const std::string& path, const std::string& container) const {
        files.push_back({on_host(host_, root_, prefix_, path), container});
    }

    [[nodiscard]] std::vector<std::string> libraries(const std::string& pattern) {
        auto found = search_.real_files(places_.libraries, pattern);
        return found.empty() ? search_.real_files(places_.more_libraries, pattern) : found;
    }

    /// Returns the driver's version, preferably the loaded one: libraries of an earlier driver may remain.
    [[nodiscard]] std::string find_version() {
        const std::string loaded = host_.read_line("/sys/module/nvidia/version").value_or(std::string());
        for (const std::string library : {"libcuda.so.", "libnvidia-ml.so."}) {
            std::string first;
            for (const std::string& path : libraries(library + "*.*"))
                if (std::string version = name_of(path).substr(library.size());
                    base::is_driver_version(version) && (first.empty() || version == loaded))
                    first = std::move(version);
            if (!first.empty())
                return first;
        }
        return "";
    }

    /// Adds the libraries whose names contain the driver's version, and the driver's older compiler.
    void read_libraries() {
        std::vector<std::string> searched = directories_;
        for (const std::string& directory : directories_)
            searched.push_back(directory + "/vdpau");
        for (const std::string& library : search_.real_files(searched, "*.so." + files_.version))
            add(files_.libraries, library);
        for (const std::string& library : search_.real_files(directories_, "libnvidia-nvvm70.so.*"))
            add(files_.libraries, library);
        for (const DriverFile& library : files_.libraries)
            link_library(library);
    }

    /// Adds the links by which programs find the library: links with well-known names, and links of the host.
    void link_library(const DriverFile& library) {
        const std::string host = library.host.substr(prefix_.size());
        const std::string name = name_of(library.container);
        const std::string directory = directory_of(library.container) + "/";
        std::vector<DriverLink> links;
        if (base::starts_with(name, "libcuda.so."))
            links.push_back({"libcuda.so.1", directory + "libcuda.so"});
        else if (base::starts_with(name, "libGLX_nvidia.so."))
            links.push_back({name, directory + "libGLX_indirect.so.0"});
        else if (base::starts_with(name, "libnvidia-opticalflow.so."))
            links.push_back({"libnvidia-opticalflow.so.1", directory + "libnvidia-opticalflow.so"});
        const std::string soname = soname_of(root_, host);
        if (!soname.empty() && soname != name && is_link(directory_of(host) + "/" + soname))
            links.push_back({name, directory + soname});
        const std::string plain = without_numbers(soname);
        if (!plain.empty() && plain != soname && is_link(directory_of(host) + "/" + plain))
            if (const DriverLink link{soname, directory + plain}; links.empty() || links.front() != link)
                links.push_back(link);
        files_.links.insert(files_.links.end(), links.begin(), links.end());
    }

    [[nodiscard]] bool is_link(const std::string& path) const {
        const auto st = root_.lstat(path);
        return st && S_ISLNK(st->st_mode);
    }

    void read_graphics() {
        const std::string& version = files_.version;
        for (const std::string_view platform : egl_platforms)
            for (const std::string& library : libraries(std::string(platform) + ".so.*.*"))
                add(files_.graphics, library);
        // GBM opens the allocator through this link. read_libraries() adds the allocator itself.
        for (const std::string& library : libraries("libnvidia-allocator.so." + version))
            files_.graphics_links.push_back({"../libnvidia-allocator.so.1",
                                             in_container(directory_of(library)) + "/gbm/nvidia-drm_gbm.so"});
        for (const std::string& library : libraries("libnvidia-vulkan-producer.so." + version)) {
            add(files_.graphics, library);
            files_.graphics_links.push_back(
                {name_of(library), in_container(directory_of(library)) + "/libnvidia-vulkan-producer.so"});
        }
        read_xorg();
        add_program(files_.graphics, "nvidia-xconfig");
        for (const std::string_view config : shared_configs)
            add_config(places_.configs, config, "/usr/share/");
        add_config(places_.configs, opencl_config, "/etc/");
        for (const std::string_view config : vulkan_configs)
            add_config(places_.configs_of_vulkan, config, "/etc/");
    }

    void read_xorg() {
        std::vector<std::string> searched;
        for (const std::string& directory : directories_)
            for (const char* below : {"/nvidia/xorg", "/xorg/modules/drivers", "/xorg/modules/extensions",
                                      "/xorg/modules/updates/drivers", "/xorg/modules/updates/extensions"})
                searched.push_back(directory + below);
        searched.insert(searched.end(), places_.xorg.begin(), places_.xorg.end());
        const std::string server = "libglxserver_nvidia.so";
        for (const std::string& name : {std::string("nvidia_drv.so"), server + "." + files_.version})
            if (const auto module = search_.first_file(searched, name)) {
                add(files_.graphics, *module);
                if (base::starts_with(name, server))
                    files_.graphics_links.push_back(
                        {name, in_container(directory_of(*module)) + "/" + server});
            }
    }

    void add_config(const std::vector<std::string>& directories, std::string_view config,
                    const std::string& to) {
        if (const auto file = search_.first_file(directories, std::string(config)))
            add(files_.graphics, *file, to + std::string(config));
    }

    void read_firmware() {
        for (const char* pattern : {"gsp*.bin", "ucodes*.bin"})
            for (const std::string& directory : places_.firmware)
                for (const std::string& file :
                     search_.files(directory + "/nvidia/" + files_.version, pattern))
                    add(files_.firmware, file);
    }

    void add_program(std::vector<DriverFile>& files, std::string_view name) {
        if (const auto program = search_.first_file(places_.programs, std::string(name), 0111))
            add(files, *program);
    }

    const Root& host_;
    const Root& root_;   ///< the driver's root
    std::string prefix_; ///< path of `root_` on the host
    Places places_;
    FileSearch search_;
    std::vector<std::string> directories_; ///< directories with the driver's libraries
    DriverFiles files_;
};

void add_sockets(const Root& host, const Root& root, const std::string& prefix, DriverFiles& files) {
    for (const std::string& socket : driver_sockets(root))
        files.sockets.push_back({on_host(host, root, prefix, socket), socket});
}

/// Returns the directories in which the kernel searches firmware, in its order.
std::vector<std::string> firmware_directories(const Root& host) {
    std::vector<std::string> directories;
    const auto chosen = host.read_line("/sys/module/firmware_class/parameters/path");
    if (chosen && base::starts_with(*chosen, "/"))
        directories.push_back(*chosen);
    const std::string kernel = host.read_line("/proc/sys/kernel/osrelease").value_or(std::string());
    for (const std::string directory : {"/lib/firmware/updates", "/lib/firmware"}) {
        if (base::is_kernel_release(kernel))
            directories.push_back(directory + "/" + kernel);
        directories.push_back(directory);
    }
    return directories;
}

std::vector<std::string> xorg_directories() {
    std::vector<std::string> directories;
    for (const std::string directory :
         {"/usr/lib/xorg", "/usr/lib64/xorg", "/usr/X11R6/lib", "/usr/X11R6/lib64"})
        for (const char* below : {"/modules/drivers", "/modules/extensions", "/modules/updates/drivers",
                                  "/modules/updates/extensions"})
            directories.push_back(directory + below);
    return directories;
}

Places distribution_places(const Root& host) {
    Places places;
    places.libraries = {"/", "/usr/lib64", "/lib64"};
    for (const std::string directory : {"/usr/lib/", "/lib/"})
        for (const char* below : {"", "/nvidia/current"})
            for (const char* triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"})
                places.libraries.push_back(directory + triplet + below);
    places.more_libraries = {"/usr/lib"};
    places.programs = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};
    places.firmware = firmware_directories(host);
    places.configs = {"/etc", "/usr/local/share", "/usr/share"};
    places.configs_of_vulkan = places.configs;
    places.configs_of_vulkan.emplace_back("/");
    places.xorg = xorg_directories();
    return places;
}

} // namespace

std::vector<std::string> driver_sockets(const Root& host) {
    const FileSearch search(host);
    std::vector<std::string> sockets;
    for (const std::string_view socket : daemon_sockets)
        if (auto found = search.first_file({"/run", "/var/run"}, std::string(socket)))
            sockets.push_back(std::move(*found));
    return sockets;
}

Result<std::optional<std::string>> selected_userland(const Root& host) {
    const auto link = host.lstat(current_userland);
    if (!link && link.error().code == Errc::NotFound)
        return std::nullopt;
    if (!link)
        return base::fail(link.error());
    GPUHOST_TRY(path, real_path(host, std::string(current_userland)));
    return std::optional(std::move(path));
}

Result<DriverFiles> read_userland(const Root& host, const std::string& userland) {
    Places places;
    places.libraries = {userland + "/lib"};
    places.programs = {userland + "/bin"};
    // A userland has no configuration files. The host's configuration files name libraries without versions,
    // so they fit any driver.
    places.configs = {"/etc", "/usr/local/share", "/usr/share"};
    places.configs_of_vulkan = places.configs;
    places.moved = {{userland + "/lib", std::string(container_libraries)}, {userland + "/bin", "/usr/bin"}};
    GPUHOST_TRY(files, DriverReader(host, host, "", std::move(places)).read());
    for (const char* pattern : {"gsp*.bin", "ucodes*.bin"})
        for (const std::string& file : FileSearch(host).files(userland + "/firmware", pattern))
            files.firmware.push_back({file, "/lib/firmware/nvidia/" + files.version + "/" + name_of(file)});
    add_sockets(host, host, "", files);
    return std::move(files);
}

Result<DriverFiles> find_driver(const Root& host, const std::string& driver_root) {
    GPUHOST_TRY(real, real_path(host, driver_root));
    GPUHOST_TRY(root, Root::open(host.host_path(real)));
    const std::string prefix = real == "/" ? "" : real;
    GPUHOST_TRY(files, DriverReader(host, root, prefix, distribution_places(host)).read());
    add_sockets(host, root, prefix, files);
    return std::move(files);
}

Result<DriverFiles> present_driver(const Root& host) {
    GPUHOST_TRY(userland, selected_userland(host));
    return userland ? read_userland(host, *userland) : find_driver(host, "/");
}

Result<std::string> nvml_library(const DriverFiles& driver) {
    const std::string name = "/libnvidia-ml.so." + driver.version;
    for (const DriverFile& library : driver.libraries)
        if (base::ends_with(library.host, name))
            return library.host;
    return base::fail(Errc::NotFound, "the driver has no NVML library");
}

Result<std::string> loaded_nvml_library(const Root& host) {
    const std::string version = host.read_line("/sys/module/nvidia/version").value_or(std::string());
    if (version.empty())
        return base::fail(Errc::NotFound, "no driver is loaded");
    const auto driver = present_driver(host);
    if (driver && driver->version == version)
        return nvml_library(*driver);
    const std::string userlands = std::string(driver_store) + "/" + version + "/userland";
    for (const std::string& digest : host.list(userlands).value_or(std::vector<std::string>()))
        if (std::string library = userlands + "/" + digest + "/lib/libnvidia-ml.so." + version;
            host.exists(library))
            return library;
    return base::fail(Errc::NotFound, "the NVML library of the loaded driver " + version + " is missing",
                      "Import driver " + version +
                          ", so that the store has it: gpuhostctl driver import FILE….");
}

} // namespace gpuhost::runtime
