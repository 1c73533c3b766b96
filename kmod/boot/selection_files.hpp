// SPDX-License-Identifier: Apache-2.0
// The files and links through which the host finds its selected driver, and the order in which they change.
//
//   /usr/bin/nvidia-smi, ld.so.conf.d, units' drop-ins ─► current ─► boot/<kernel>/userland
//   /lib/modules/<kernel>/updates/gpuhost ────────► boot/<kernel>/modules
//
//   boot/<kernel> ─► generation/<name>/{userland,modules} ─► the sets
//
// Relative paths are in /var/lib/gpuhost/driver; "the sets" are in the store (kmod/store/store.hpp).
// boot/<kernel> is a single link, so one rename changes modules and libraries together. Before that rename
// the host boots the old version, after it the new one, and never modules of one with libraries of the other.
// All other files are created before the rename or removed after it.
#pragma once

#include "daemon/content/set/file_operation.hpp"
#include "kmod/store/store.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// A generation (a userland and a module set of one driver version) with the paths of the sets in the store.
struct Driver {
    Generation generation;
    std::string userland; ///< directory of the userland set; empty: none
    std::string modules;  ///< directory
};

[[nodiscard]] base::Json to_json(const Driver& driver);
/// Returns nothing for null or a value that is not a driver.
[[nodiscard]] std::optional<Driver> driver_from_json(const base::Json& value);

/// Returns the operations that create generation/<name>. They may run while the host is in use, because no
/// other link leads to that directory before the driver is selected.
[[nodiscard]] std::vector<content::FileOperation> generation_files(const Driver& driver);
/// Returns the operation that creates /lib/firmware/nvidia/<version>. Each driver version has a link of its
/// own, so it may be created while another version runs. Returns nothing if the userland has no firmware.
[[nodiscard]] std::optional<content::FileOperation> firmware_link(const base::Root& root,
                                                                  const Driver& driver);

struct SelectionFiles {
    /// Operations that run before the new index (modules.dep) is installed. The last of them makes the
    /// selection take effect.
    std::vector<content::FileOperation> before_index;
    std::vector<content::FileOperation> after_index; ///< run after the index is installed; remove old files
};

/// Returns the operations that make `kernel` boot `driver`. If `driver` has no value, the kernel boots no
/// driver of gpuhost. `tools` and `old_tools` are tools_of() of the new and the previous driver. `options`
/// is the content of options_file; empty: the file is removed. Without `driver`, files that all kernels share
/// are set for another kernel with a selection. In this case, `options` and `tools` are those of the other
/// kernel. `others` is the target of the link `current` for the other kernel; empty if there is none.
[[nodiscard]] SelectionFiles selection_files(std::string_view kernel, const std::optional<Driver>& driver,
                                             const std::vector<content::FileOperation>& tools,
                                             const std::vector<content::FileOperation>& old_tools,
                                             const std::string& options, const std::string& others = {});
/// Returns the operations of the step driver.select, from its args. `which` is "to" in apply and "from" in
/// undo. With "boots_only" in the args (for a kernel that is not running), returns only the operations on
/// files that no other kernel uses.
[[nodiscard]] SelectionFiles selection_files(const base::Root& root, const base::Json& args,
                                             const std::string& which);

/// Returns the directory of the module set that `kernel` boots, from the links. Empty: none.
[[nodiscard]] std::string boot_modules(const base::Root& root, std::string_view kernel);
/// Returns the target that the link `current` has while `kernel` is running: "boot/<kernel>/userland".
[[nodiscard]] std::string userland_link_of(std::string_view kernel);
/// Returns the target of the link `current`. Empty if the link does not exist: no userland of gpuhost is in
/// use.
[[nodiscard]] std::string current_userland(const base::Root& root);

/// Returns the operations that make the programs in bin/ of the driver's userland available. For each program
/// this is a link in /usr/bin. For a companion service that a package of the host has installed
/// (kmod/units/companion_services.hpp), it is a drop-in of the service's unit instead.
[[nodiscard]] std::vector<content::FileOperation> tools_of(const base::Root& root,
                                                           const std::optional<Driver>& driver);

inline constexpr std::string_view options_file = "/etc/modprobe.d/gpuhost.conf";
/// Returns the content of options_file: the parameters as options of modprobe.d(5), and a blacklist entry for
/// nouveau. `parameters` are words like "nvidia.NVreg_A=1".
[[nodiscard]] std::string modprobe_options(const std::vector<std::string>& parameters);
/// Returns the parameters in a text that modprobe_options() made, by module, in the form of
/// split_parameters().
[[nodiscard]] std::map<std::string, std::string> parse_modprobe_options(std::string_view text);

} // namespace gpuhost::kmod
