// SPDX-License-Identifier: Apache-2.0
// How the host finds its selected driver: links, and the order in which they change.
//
//   /usr/bin/nvidia-smi, ld.so.conf.d, units' drop-ins ─► current ─► boot/<kernel>/userland
//   /lib/modules/<kernel>/updates/gpuhost ────────► boot/<kernel>/modules
//
//   boot/<kernel> ─► generation/<name>/{userland,modules} ─► the sets
//
// boot/<kernel> is one link, so modules and libraries change together by one rename. Before it the host boots
// the old version, after it the new one, and never a mix. Everything else is created before it or removed
// after it.
#pragma once

#include "daemon/content/set/file_operation.hpp"
#include "kmod/store/store.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// A generation with the paths of its sets.
struct Driver {
    Generation generation;
    std::string userland; ///< directory; empty: none
    std::string modules;  ///< directory
};

[[nodiscard]] base::Json to_json(const Driver& driver);
/// Returns nothing for null or a value that is not a driver.
[[nodiscard]] std::optional<Driver> driver_from_json(const base::Json& value);

/// Returns files that can change while the host is in use, because nothing links to them yet.
[[nodiscard]] std::vector<content::FileOperation> generation_files(const Driver& driver);
/// Returns the link /lib/firmware/nvidia/<version>. Each version has its own, so it affects no other version.
/// Returns nothing without firmware.
[[nodiscard]] std::optional<content::FileOperation> firmware_link(const base::Root& root,
                                                                  const Driver& driver);

struct SelectionFiles {
    std::vector<content::FileOperation> before_index; ///< up to and including the one that takes effect
    std::vector<content::FileOperation> after_index;
};

/// Returns the operations to make `kernel` boot `driver`, or none. `tools` link to the programs of its
/// userland, `old_tools` to the previous ones. Without a driver, `options` and `others` (an earlier
/// current_userland()) are those of another kernel's selection.
[[nodiscard]] SelectionFiles selection_files(std::string_view kernel, const std::optional<Driver>& driver,
                                             const std::vector<content::FileOperation>& tools,
                                             const std::vector<content::FileOperation>& old_tools,
                                             const std::string& options, const std::string& others = {});
/// The same, from the args of driver.select, for "from" or "to". With "boots_only" it returns only the files
/// of this kernel.
[[nodiscard]] SelectionFiles selection_files(const base::Root& root, const base::Json& args,
                                             const std::string& which);

/// Returns the directory of the module set that `kernel` boots. Empty: none.
[[nodiscard]] std::string boot_modules(const base::Root& root, std::string_view kernel);
/// Returns the target of `current` while `kernel` runs.
[[nodiscard]] std::string userland_link_of(std::string_view kernel);
/// Returns the target of the link `current`. Empty: neither the link nor the linker's file exists.
[[nodiscard]] std::string current_userland(const base::Root& root);

/// Returns what makes the programs in its userland's bin/ available. These are links, or for a locked part
/// with a package on the host (companion_services.hpp) its unit's drop-in.
[[nodiscard]] std::vector<content::FileOperation> tools_of(const base::Root& root,
                                                           const std::optional<Driver>& driver);

inline constexpr std::string_view options_file = "/etc/modprobe.d/gpuhost.conf";
/// Returns the content of options_file: parameters as options, and nouveau blacklisted.
[[nodiscard]] std::string modprobe_options(const std::vector<std::string>& parameters);
/// Returns the parameters in it by module, as split_parameters() does.
[[nodiscard]] std::map<std::string, std::string> parse_modprobe_options(std::string_view text);

} // namespace gpuhost::kmod
