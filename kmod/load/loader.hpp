// SPDX-License-Identifier: Apache-2.0
// Loads and unloads kernel modules, and binds and unbinds the text console. Tests replace the implementation
// at link time: programs link kmod/load/loader_libkmod.cpp, tests link tests/support/fake_loader.cpp, which
// simulates a kernel in a directory tree.
#pragma once

#include "daemon/base/root.hpp"

#include <memory>
#include <string>

namespace gpuhost::kmod {

/// Each function makes one attempt, without repetition or timeout. It returns 0 or an errno. It may block for
/// as long as the kernel does, also forever (see module_ops.hpp).
class ModuleLoader {
  public:
    virtual ~ModuleLoader() = default;
    /// Loads a module from its file; `path` is below the root. The modules that it depends on must be loaded
    /// already. EEXIST: a module of that name is loaded.
    [[nodiscard]] virtual int load(const std::string& path, const std::string& parameters) = 0;
    /// Loads a module and its dependencies by the index of /lib/modules (modules.dep), for modules of the
    /// distribution. `parameters` apply only to the module itself. Returns 0 if it is loaded already.
    [[nodiscard]] virtual int load_by_name(const std::string& name, const std::string& parameters) = 0;
    /// Unloads a module. ENOENT: not loaded. EAGAIN or EBUSY: in use.
    [[nodiscard]] virtual int unload(const std::string& name) = 0;
    /// See bind_console() in kmod/load/console.hpp.
    [[nodiscard]] virtual int bind_console(const std::string& name, bool bound) = 0;
};

/// Returns a loader that does not read modprobe's configuration. It runs no install command and ignores
/// blacklists, and also the file of kmod/load/autoload_block.hpp. Callers pass modprobe's options as
/// `parameters` (kmod/boot/modprobe_options.hpp).
[[nodiscard]] std::unique_ptr<ModuleLoader> make_module_loader(const base::Root& root);

} // namespace gpuhost::kmod
