// SPDX-License-Identifier: Apache-2.0
// Simulates a kernel below a fake root. Replaces kmod/load/loader_libkmod.cpp and kmod/device_node.cpp.
//
// Updates /sys/module, /proc/driver/nvidia, /proc/devices and the GPUs' driver links as NVIDIA's modules do.
// A device node is a file "c MAJOR:MINOR MODE"; a process holds it when /proc/PID/fd/N links to it. A
// separate process performs each load or unload and is not killed, as the kernel completes an operation after
// its caller dies.
//
// nvidia_drm with fbdev=1 registers a framebuffer, which the text console binds to. The module is then in use
// until the console is unbound.
//
// /fake-kernel/control makes it misbehave, one line each, "load|unload MODULE[@VERSION] BEHAVIOUR":
//   errno N   fails with this errno           no-gpu   nvidia loads, but serves no GPU
//   hang      does not return for 20 s        die      the calling process dies, without effect
//   delay MS  lasts this long                 race     another program loads the module just before
// "bind|unbind vtcon1 BEHAVIOUR" is for the console. "probe ADDRESS[@VERSION] errno N" makes the probe of
// this GPU by nvidia fail. If signatures are enforced, a module without a signature is refused.
// /fake-kernel/keyrings/NAME has the serials of the keys in a keyring of /proc/keys. /fake-kernel/log has a
// line for each completed load and unload: "load nvidia 550.163.01".
#include "daemon/base/handle.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "daemon/runtime/gpu/character_device.hpp"
#include "kmod/device_node.hpp"
#include "kmod/load/console.hpp"
#include "kmod/load/loader.hpp"
#include "kmod/module/info.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/trust/kernel_keys.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view control_file = "/fake-kernel/control";

struct Behaviour {
    std::string what;
    unsigned number = 0;
};

std::string text(const base::Root& root, const std::string& path) {
    return root.read(path).value_or(std::string());
}

std::string node_text(unsigned major, unsigned minor, mode_t mode) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "c %u:%u %o\n", major, minor, mode & 07777U);
    return line.data();
}

std::optional<dev_t> parse_node(const std::string& content) {
    const std::vector<std::string> words = base::split_words(content);
    if (words.size() < 2 || words[0] != "c")
        return std::nullopt;
    const std::vector<std::string> numbers = base::split(words[1], ':');
    const auto major = base::parse_uint(numbers.front());
    const auto minor = base::parse_uint(numbers.back());
    if (numbers.size() != 2 || !major || !minor)
        return std::nullopt;
    return ::makedev(static_cast<unsigned>(*major), static_cast<unsigned>(*minor));
}

/// Returns the drivers that a module with this name registers in /proc/devices.
std::vector<CharDriver> char_drivers(const std::string& module) {
    if (module == "nvidia")
        return {{195, "nvidia"}, {234, "nvidia-caps"}};
    if (module == "nvidia_modeset")
        return {{195, "nvidia-modeset"}};
    if (module == "nvidia_uvm")
        return {{236, "nvidia-uvm"}};
    return {};
}

/// Returns the path of an open file, below no symbolic link.
std::string real_path(int fd) {
    std::array<char, PATH_MAX> path{};
    const ssize_t size =
        ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
    return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

class FakeKernel {
  public:
    explicit FakeKernel(const base::Root& root) : root_(root) {}

    int load(const std::string& path, const std::string& parameters) const {
        auto fd = root_.open_file(path, O_RDONLY);
        if (!fd)
            return ENOENT;
        const auto file = base::MappedFile::open(fd->get(), path);
        const auto info = file ? parse_module_info(file->view(), path) : base::fail(file.error());
        if (!info || info->kernel() != kernel_release(root_).value_or(std::string()))
            return ENOEXEC;
        if (!signature_enforcement(root_).empty() &&
            !content::read_module_signature(file->view(), path).value_or(std::nullopt))
            return EKEYREJECTED;
        if (loaded_module(root_, info->name))
            return EEXIST;
        if (const int error = misbehave("load", info->name, info->version, "coming"); error != 0)
            return error;
        for (const std::string& name : info->depends)
            if (!loaded_module(root_, module_name(name)))
                return ENOENT;
        const auto base_module = loaded_module(root_, "nvidia");
        if (base_module && base::starts_with(info->name, "nvidia") && base_module->version != info->version)
            return EINVAL;
        if (info->name == "nvidia" && nvidia_gpus(root_).empty())
            return ENODEV;
        const int error =
            done(insert(*info, parameters, real_path(fd->get())), "load", info->name, info->version);
        const auto how = behaviour("load", info->name, info->version);
        return error == 0 && how && how->what == "race" ? EEXIST : error;
    }

    int load_by_name(const std::string& name, const std::string& parameters) const {
        if (loaded_module(root_, name))
            return 0;
        if (const int error = misbehave("load", name, "", "coming"); error != 0)
            return error;
        auto made = make_module(name, "", "", {});
        write("/sys/module/" + name + "/fake-parameters", parameters + "\n");
        return done(std::move(made), "load", name, "");
    }

    int unload(const std::string& name) const {
        const auto module = loaded_module(root_, name);
        if (!module)
            return ENOENT;
        if (!module->holders.empty() || users(name) > 0)
            return EAGAIN;
        if (const int error = misbehave("unload", name, module->version, "going"); error != 0)
            return error;
        return done(remove_module(*module), "unload", name, module->version);
    }

    int bind(const std::string& console, bool bound) const {
        const std::string operation = bound ? "bind" : "unbind";
        if (const int error = misbehave(operation, console, "", ""); error != 0)
            return error;
        const int error = bind_console(root_, console, bound);
        return error != 0 ? error : done({}, operation, console, "");
    }

  private:
    std::optional<Behaviour> behaviour(std::string_view operation, const std::string& module,
                                       const std::string& version) const {
        for (const std::string& line : base::split(text(root_, std::string(control_file)), '\n')) {
            const std::vector<std::string> words = base::split_words(line);
            if (words.size() < 3 || words[0] != operation ||
                (words[1] != module && words[1] != module + "@" + version))
                continue;
            const auto number = words.size() > 3 ? base::parse_uint(words[3]) : std::nullopt;
            return Behaviour{words[2], static_cast<unsigned>(number.value_or(0))};
        }
        return std::nullopt;
    }

    int misbehave(std::string_view operation, const std::string& module, const std::string& version,
                  const std::string& state_while_hung) const {
        const auto how = behaviour(operation, module, version);
        if (!how)
            return 0;
        if (how->what == "errno")
            return static_cast<int>(how->number);
        if (how->what == "delay")
            ::usleep(how->number * 1000);
        if (how->what == "die")
            return -1;
        if (how->what == "hang") {
            if (!state_while_hung.empty()) {
                make_directories("/sys/module/" + module + "/holders");
                write("/sys/module/" + module + "/initstate", state_while_hung + "\n");
            }
            // Usually until the test has ended and removed the behaviour.
            (void)tests::eventually([&] { return !behaviour(operation, module, version); });
            return -1;
        }
        return 0;
    }

    int done(base::Result<void> result, const std::string& operation, const std::string& module,
             const std::string& version) const {
        if (!result)
            return EIO;
        const std::string log = "/fake-kernel/log";
        make_directories("/fake-kernel");
        write(log, text(root_, log) + operation + " " + module + " " + version + "\n");
        return 0;
    }

    base::Result<void> insert(const ModuleInfo& info, const std::string& parameters,
                              const std::string& path) const {
        GPUHOST_CHECK(make_module(info.name, info.version, info.srcversion, info.depends));
        write("/sys/module/" + info.name + "/fake-parameters", parameters + "\n");
        write("/sys/module/" + info.name + "/fake-path", path + "\n");
        std::string devices = text(root_, "/proc/devices");
        std::string added;
        for (const CharDriver& driver : char_drivers(info.name))
            added += std::to_string(driver.major) + " " + driver.name + "\n";
        const auto block = devices.find("\nBlock devices");
        devices.insert(block == std::string::npos ? devices.size() : block, added);
        make_directories("/proc");
        write("/proc/devices", devices);
        if (info.name == "nvidia_drm" && parameters.find("fbdev=1") != std::string::npos)
            claim_console();
        return info.name == "nvidia" ? start_gpus(info.version) : base::Result<void>{};
    }

    void claim_console() const {
        write("/sys/class/graphics/fb0/name", "nvidia-drmdrmfb\n");
        write("/sys/class/vtconsole/vtcon1/name", "(M) frame buffer device\n");
        write("/sys/class/vtconsole/vtcon1/bind", "1\n");
    }

    base::Result<void> make_module(const std::string& name, const std::string& version,
                                   const std::string& srcversion,
                                   const std::vector<std::string>& depends) const {
        const std::string directory = "/sys/module/" + name;
        make_directories(directory + "/holders");
        if (!version.empty())
            write(directory + "/version", version + "\n");
        if (!srcversion.empty())
            write(directory + "/srcversion", srcversion + "\n");
        write(directory + "/refcnt", "0\n");
        for (const std::string& used : depends) {
            make_directories("/sys/module/" + module_name(used) + "/holders/" + name);
            write("/sys/module/" + module_name(used) + "/refcnt", count_holders(module_name(used)));
        }
        write(directory + "/initstate", "live\n");
        return {};
    }

    base::Result<void> start_gpus(const std::string& version) const {
        const std::string proc = "/proc/driver/nvidia";
        make_directories(proc + "/gpus");
        make_directories(proc + "/capabilities/mig");
        make_directories("/sys/bus/pci/drivers/nvidia");
        write(proc + "/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version + "  Release Build\n");
        write(proc + "/params",
              "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n");
        write(proc + "/capabilities/mig/config",
              "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
        const auto how = behaviour("load", "nvidia", version);
        if (how && how->what == "no-gpu")
            return {};
        unsigned minor = 0;
        for (const PciGpu& gpu : nvidia_gpus(root_)) {
            if (!gpu.driver.empty() || behaviour("probe", gpu.address, version))
                continue;
            make_directories(proc + "/gpus/" + gpu.address);
            write(proc + "/gpus/" + gpu.address + "/information",
                  "Model: \t\t Fake GPU\nDevice Minor: \t " + std::to_string(minor++) + "\n");
            symlink("../../drivers/nvidia", driver_link(gpu));
        }
        return {};
    }

    base::Result<void> remove_module(const LoadedModule& module) const {
        if (module.name == "nvidia") {
            GPUHOST_CHECK(root_.remove_tree("/proc/driver/nvidia"));
            for (const PciGpu& gpu : nvidia_gpus(root_))
                if (gpu.driver == "nvidia")
                    GPUHOST_CHECK(root_.remove(driver_link(gpu)));
        }
        if (module.name == "nouveau")
            for (const PciGpu& gpu : nvidia_gpus(root_))
                if (gpu.driver == "nouveau")
                    GPUHOST_CHECK(root_.remove(driver_link(gpu)));
        if (module.name == "nvidia_drm" && has_framebuffer()) {
            GPUHOST_CHECK(root_.remove_tree("/sys/class/graphics/fb0"));
            GPUHOST_CHECK(root_.remove_tree("/sys/class/vtconsole/vtcon1"));
        }
        std::string devices = text(root_, "/proc/devices");
        for (const CharDriver& driver : char_drivers(module.name)) {
            const std::string line = std::to_string(driver.major) + " " + driver.name + "\n";
            if (const auto at = devices.find(line); at != std::string::npos)
                devices.erase(at, line.size());
        }
        write("/proc/devices", devices);
        // Without initstate the module counts as unloaded, so it is removed first.
        GPUHOST_CHECK(root_.remove("/sys/module/" + module.name + "/initstate"));
        for (const std::string& other : root_.list("/sys/module").value_or(std::vector<std::string>())) {
            GPUHOST_CHECK(root_.remove_tree("/sys/module/" + other + "/holders/" + module.name));
            if (root_.exists("/sys/module/" + other + "/refcnt"))
                write("/sys/module/" + other + "/refcnt", count_holders(other));
        }
        return root_.remove_tree("/sys/module/" + module.name);
    }

    bool has_framebuffer() const {
        return text(root_, "/sys/class/graphics/fb0/name") == "nvidia-drmdrmfb\n";
    }
    bool has_console() const {
        return has_framebuffer() && base::starts_with(text(root_, "/sys/class/vtconsole/vtcon1/bind"), "1");
    }

    /// Returns the number of open descriptors on this module's devices, plus one for the console.
    unsigned users(const std::string& module) const {
        unsigned count = module == "nvidia_drm" && has_console() ? 1 : 0;
        for (const std::string& pid : root_.list("/proc").value_or(std::vector<std::string>())) {
            auto fds = base::parse_uint(pid) ? root_.open_file("/proc/" + pid + "/fd", O_RDONLY | O_DIRECTORY)
                                             : base::fail(base::Errc::NotFound, pid);
            if (!fds)
                continue;
            for (const std::string& fd :
                 root_.list("/proc/" + pid + "/fd").value_or(std::vector<std::string>()))
                if (const auto device = device_at(fds->get(), fd.c_str()); device && owner(*device) == module)
                    ++count;
        }
        return count;
    }

    static std::string owner(dev_t device) {
        if (::gnu_dev_major(device) == 236)
            return "nvidia_uvm";
        return ::gnu_dev_major(device) == 195 && ::gnu_dev_minor(device) == 254 ? "nvidia_modeset" : "nvidia";
    }

    std::string count_holders(const std::string& module) const {
        return std::to_string(root_.list("/sys/module/" + module + "/holders")
                                  .value_or(std::vector<std::string>())
                                  .size()) +
               "\n";
    }

    static std::string driver_link(const PciGpu& gpu) {
        return "/sys/bus/pci/devices/" + gpu.address + "/driver";
    }
    // Files are written atomically and without a sync, because a kernel's files are always consistent and in
    // memory.
    void make_directories(const std::string& path) const { fs::create_directories(root_.host_path(path)); }
    void write(const std::string& path, const std::string& content) const {
        make_directories(path.substr(0, path.rfind('/')));
        const std::string temporary = root_.host_path(path) + ".new";
        std::ofstream(temporary, std::ios::binary) << content;
        fs::rename(temporary, root_.host_path(path));
    }
    void symlink(const std::string& target, const std::string& path) const {
        fs::remove(root_.host_path(path));
        fs::create_symlink(target, root_.host_path(path));
    }

    const base::Root& root_;
};

constexpr int died = 255;

/// Closes the test's output, so that its reader does not wait for a process that hangs.
void release_output() {
    const base::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    (void)::dup2(nowhere.get(), STDOUT_FILENO);
    (void)::dup2(nowhere.get(), STDERR_FILENO);
}

/// Runs `operation` as the kernel does: it completes even if the caller dies.
template <class Operation>
int as_kernel(Operation operation) {
    const pid_t pid = ::fork();
    if (pid < 0)
        return EAGAIN;
    if (pid == 0) {
        (void)::setsid();
        release_output();
        (void)::alarm(30); // limits the caller's wait
        const int error = operation();
        ::_exit(error < 0 ? died : error);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    const int error = WIFEXITED(status) ? WEXITSTATUS(status) : died;
    if (error == died)
        ::_exit(1);
    return error;
}

class FakeLoader final : public ModuleLoader {
  public:
    explicit FakeLoader(const base::Root& root) : kernel_(root) {}
    int load(const std::string& path, const std::string& parameters) override {
        return as_kernel([&] { return kernel_.load(path, parameters); });
    }
    int load_by_name(const std::string& name, const std::string& parameters) override {
        return as_kernel([&] { return kernel_.load_by_name(name, parameters); });
    }
    int unload(const std::string& name) override {
        return as_kernel([&] { return kernel_.unload(name); });
    }
    int bind_console(const std::string& name, bool bound) override {
        return as_kernel([&] { return kernel_.bind(name, bound); });
    }

  private:
    FakeKernel kernel_;
};

} // namespace

std::unique_ptr<ModuleLoader> make_module_loader(const base::Root& root) {
    return std::make_unique<FakeLoader>(root);
}

std::optional<dev_t> device_at(int directory, const char* name) {
    const base::UniqueFd fd(::openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd)
        return std::nullopt;
    const auto content = base::read_all(fd.get(), 64, name);
    return content ? parse_node(*content) : std::nullopt;
}

bool is_device_at(int directory, const char* name, const DeviceNode& node) {
    const base::UniqueFd fd(::openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return fd && base::read_all(fd.get(), 64, name).value_or(std::string()) ==
                     node_text(node.major, node.minor, node.mode);
}

std::optional<std::vector<std::uint32_t>> keyring_members(const base::Root& root, const Keyring& keyring) {
    const auto content = root.read("/fake-kernel/keyrings/" + keyring.name);
    if (!content)
        return std::nullopt;
    std::vector<std::uint32_t> members;
    for (const std::string& word : base::split_words(*content))
        members.push_back(static_cast<std::uint32_t>(base::parse_uint(word, 16).value_or(0)));
    return members;
}

base::Result<void> make_device(const base::Root& root, const DeviceNode& node) {
    return root.write_atomic(node.path, node_text(node.major, node.minor, node.mode));
}

} // namespace gpuhost::kmod

namespace gpuhost::runtime {

/// A test may add a group ID: "c 226:128 660 44". Others then have no access to the node.
std::optional<struct stat> stat_character_device(const base::Root& root, const std::string& path) {
    const std::string content = root.read(path).value_or(std::string());
    const auto device = kmod::parse_node(content);
    if (!device)
        return std::nullopt;
    const std::vector<std::string> words = base::split_words(content);
    const auto group = words.size() > 3 ? base::parse_uint(words[3]) : std::nullopt;
    struct stat st {};
    st.st_mode = S_IFCHR | (group ? 0660 : 0666);
    st.st_gid = static_cast<gid_t>(group.value_or(0));
    st.st_rdev = *device;
    return st;
}

} // namespace gpuhost::runtime
