// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kmod/kernel_tree.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/module/graph.hpp"
#include "tests/support/elf_images.hpp"

namespace gpuhost::tests {

KernelTree::KernelTree() : root_(directory_.root()) {
    directory_.write("proc/sys/kernel/osrelease", std::string(test_kernel) + "\n");
    directory_.write(
        "proc/devices",
        "Character devices:\n  1 mem\n195 nvidia-frontend-of-nobody\n\nBlock devices:\n  8 sd\n");
    directory_.write("dev/null", "");
}

void KernelTree::add_gpu(const std::string& address, const std::string& driver) const {
    const std::string device = "sys/bus/pci/devices/" + address;
    directory_.write(device + "/vendor", "0x10de\n");
    directory_.write(device + "/class", "0x030200\n");
    directory_.write(device + "/device", "0x2330\n");
    if (!driver.empty())
        (void)root_.symlink_atomic("../../drivers/" + driver, "/" + device + "/driver");
}

kmod::ModuleGoal KernelTree::add_modules(const std::string& version) const {
    struct Module {
        std::string name;
        std::string file;
        std::string depends;
    };
    const std::vector<Module> modules{{"nvidia", "nvidia.ko", "drm"},
                                      {"nvidia_uvm", "nvidia-uvm.ko", "nvidia"},
                                      {"nvidia_modeset", "nvidia-modeset.ko", "video,nvidia"},
                                      {"nvidia_drm", "nvidia-drm.ko", "drm,nvidia-modeset"}};
    kmod::ModuleGoal goal{version, {}};
    for (const Module& module : modules) {
        const std::string path = "/modules/" + version + "/" + module.file;
        const std::string srcversion = "SRC" + version + module.name;
        directory_.write(path, module_image({{"license", "Dual MIT/GPL"},
                                             {"version", version},
                                             {"srcversion", srcversion},
                                             {"depends", module.depends},
                                             {"name", module.name},
                                             {"vermagic", std::string(test_kernel) + " SMP mod_unload "}}));
        std::vector<std::string> depends;
        for (const std::string& name : base::split(module.depends, ','))
            depends.push_back(kmod::module_name(name));
        goal.modules.push_back({module.name, path, version, srcversion, depends, {}, false});
    }
    return goal;
}

void KernelTree::add_process(int pid, const std::string& command, const std::string& cgroup,
                             const std::string& node) const {
    const std::string directory = "proc/" + std::to_string(pid);
    directory_.write(directory + "/comm", command + "\n");
    directory_.write(directory + "/cgroup", "0::" + cgroup + "\n");
    (void)root_.make_directories("/" + directory + "/fd");
    (void)root_.symlink_atomic("../../.." + node, "/" + directory + "/fd/7");
    (void)root_.symlink_atomic("../..", "/" + directory + "/root");
}

std::string KernelTree::loaded() const {
    std::vector<std::string> texts;
    for (const kmod::LoadedModule& module : kmod::unload_order(kmod::loaded_driver(root_)))
        texts.push_back(module.name + " " + module.version);
    return base::join(texts, ", ");
}

} // namespace gpuhost::tests
