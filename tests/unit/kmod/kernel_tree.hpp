// SPDX-License-Identifier: Apache-2.0
// A host's kernel, devices and driver files in a temporary tree, for tests/support/fake_loader.cpp.
#pragma once

#include "kmod/boot/selection_files.hpp"
#include "kmod/module/goal.hpp"
#include "kmod/store/store.hpp"
#include "tests/support/tmpdir.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::tests {

inline constexpr std::string_view test_kernel = "6.1.0-50-amd64";

class KernelTree {
  public:
    KernelTree();

    [[nodiscard]] const base::Root& root() const { return root_; }
    [[nodiscard]] const TempDir& directory() const { return directory_; }

    void add_gpu(const std::string& address, const std::string& driver = {}) const;
    /// Writes module files of one version like a set of the store, without its manifest.
    [[nodiscard]] kmod::ModuleGoal add_modules(const std::string& version) const;
    /// Sets the lines of the fake kernel's control file.
    void misbehave(const std::string& lines) const { directory_.write("fake-kernel/control", lines); }
    [[nodiscard]] std::string kernel_log() const { return directory_.read("fake-kernel/log"); }
    void forget_log() const { directory_.write("fake-kernel/log", ""); }
    /// Adds a process to the tree that has this device node open.
    void add_process(int pid, const std::string& command, const std::string& cgroup,
                     const std::string& node) const;
    /// Returns the modules in /sys/module, leaf to root: "nvidia_drm 535.261.03, …".
    [[nodiscard]] std::string loaded() const;

  private:
    TempDir directory_;
    base::Root root_;
};

} // namespace gpuhost::tests
