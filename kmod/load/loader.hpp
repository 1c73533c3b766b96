// SPDX-License-Identifier: Apache-2.0
// Loads and unloads kernel modules, and binds and unbinds the text console. Replaced at link time: programs
// link kmod/load/loader_libkmod.cpp, tests link tests/support/fake_loader.cpp, which simulates a kernel on a
// tree.
#pragma once

#include "daemon/base/root.hpp"

#include <memory>
#include <string>

namespace gpuhost::kmod {

/// Makes one attempt for each call, without a policy. All return 0 or an errno, and all may block for as long
/// as the kernel does.
class ModuleLoader {
  public:
    virtual ~ModuleLoader() = default;
    /// Loads a file by its path below the root. Its dependencies must be loaded already. EEXIST: a module of
    /// that name is loaded.
    [[nodiscard]] virtual int load(const std::string& path, const std::string& parameters) = 0;
    /// Loads a module of the distribution and its dependencies by the installed index. `parameters` apply to
    /// the module itself. Returns 0 if it is loaded already.
    [[nodiscard]] virtual int load_by_name(const std::string& name, const std::string& parameters) = 0;
    /// Unloads a module. ENOENT: not loaded. EAGAIN or EBUSY: in use.
    [[nodiscard]] virtual int unload(const std::string& name) = 0;
    /// See bind_console() in kmod/load/console.hpp.
    [[nodiscard]] virtual int bind_console(const std::string& name, bool bound) = 0;
};

/// Returns a loader that does not read modprobe's configuration. No install command runs, no blacklist
/// applies, and the block in kmod/load/autoload_block.hpp affects others only. Options are passed as
/// parameters (kmod/boot/modprobe_options.hpp).
[[nodiscard]] std::unique_ptr<ModuleLoader> make_module_loader(const base::Root& root);

} // namespace gpuhost::kmod
