// SPDX-License-Identifier: Apache-2.0
// Putting modules into the kernel and taking them out, and its text console off one. A seam at link time: programs link
// kmod/load/loader_libkmod.cpp, tests link tests/support/fake_loader.cpp, which plays a kernel on a tree.
#pragma once

#include "daemon/base/root.hpp"

#include <memory>
#include <string>

namespace gpuhost::kmod {

/// One attempt each, no policy. All return 0 or an errno; all may hang for as long as the kernel does.
class ModuleLoader {
  public:
    virtual ~ModuleLoader() = default;
    /// A file by its path below the root; its dependencies must be loaded already. EEXIST: a module of that
    /// name is.
    [[nodiscard]] virtual int load(const std::string& path, const std::string& parameters) = 0;
    /// A module of the distribution with all that it needs, from the installed index; `parameters` are its own. Loaded
    /// already: 0.
    [[nodiscard]] virtual int load_by_name(const std::string& name, const std::string& parameters) = 0;
    /// ENOENT: not loaded. EAGAIN or EBUSY: in use.
    [[nodiscard]] virtual int unload(const std::string& name) = 0;
    /// As bind_console() (kmod/load/console.hpp).
    [[nodiscard]] virtual int bind_console(const std::string& name, bool bound) = 0;
};

/// Does not read modprobe's configuration: no install command runs, no blacklist stops us, and the shut door
/// (kmod/load/door.hpp) is shut for others only. Options come as parameters (kmod/boot/modprobe_options.hpp).
[[nodiscard]] std::unique_ptr<ModuleLoader> make_module_loader(const base::Root& root);

} // namespace gpuhost::kmod
