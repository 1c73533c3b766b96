// SPDX-License-Identifier: Apache-2.0
// Maps the paths of files in distributions' driver packages to paths in a userland set. Pure.
//
//   …/libNAME.so.VERSION  → lib/          (Debian: usr/lib/TRIPLET/nvidia/current/, Ubuntu: usr/lib/TRIPLET/,
//                                          RPM: usr/lib64/)
//   programs              → bin/          (Debian: usr/lib/nvidia/current/, else usr/bin, usr/sbin)
//   gsp_*.bin             → firmware/
//   copyright, LICENSE    → doc/PACKAGE/  (Debian: usr/share/doc/PACKAGE/, RPM: usr/share/licenses/PACKAGE/)
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::kmod {

/// The directories in which the dynamic linker of a distribution searches libraries.
inline constexpr std::array<std::string_view, 4> library_directories{
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"};

struct Placement {
    std::string path; ///< path in the userland: "lib/libcuda.so.550.163.01"
    bool executable = false;
};

/// Returns the path of a package's file in the userland. Returns nothing for files that a GPU host does not
/// need (changelogs, bug scripts, maintainers' helpers, X11).
[[nodiscard]] std::optional<Placement> place_in_userland(const content::ArchiveEntry& entry);

/// A built kernel module in a package: its kernel and file name.
struct ModulePlace {
    std::string kernel;
    std::string file; ///< "nvidia-uvm.ko.xz"
};
/// Returns kernel and file name of a module file in lib/modules/<kernel> or any directory below it:
/// "lib/modules/5.14.0-503.11.1.el9_5.x86_64/extra/drivers/video/nvidia/nvidia.ko.xz". Returns nothing for
/// other files.
[[nodiscard]] std::optional<ModulePlace> module_place(const content::ArchiveEntry& entry);

/// Returns the driver version that a path in a package contains ("…/libcuda.so.535.261.03",
/// "…/firmware/nvidia/535.261.03/…").
[[nodiscard]] std::optional<std::string> version_in_path(std::string_view path);

/// Returns the directory of a source of kernel modules ("usr/src/nvidia-current-open-550.163.01") if this
/// file is its dkms.conf or Kbuild. Returns nothing for other files.
[[nodiscard]] std::optional<std::string> source_directory(const content::ArchiveEntry& entry);

} // namespace gpuhost::kmod
