// SPDX-License-Identifier: Apache-2.0
// How the host finds its selected driver: links, and the order in which they change.
//
//   /usr/bin/nvidia-smi, ld.so.conf.d, units' drop-ins ─► current ─► boot/<kernel>/userland
//   /lib/modules/<kernel>/updates/gpuhost ────────► boot/<kernel>/modules
//
//   boot/<kernel> ─► generation/<name>/{userland,modules} ─► the sets
//
// boot/<kernel> is one link, so modules and libraries change together by one rename: before it the host boots
// the old version, after it the new one, and never a mix. Everything else is made before it or removed after it.
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
/// Nothing for null or what is no driver.
[[nodiscard]] std::optional<Driver> driver_from_json(const base::Json& value);

/// What it can change while the host serves: nothing leads there yet.
[[nodiscard]] std::vector<content::FileOperation> generation_files(const Driver& driver);
/// /lib/firmware/nvidia/<version>; each version has its own, so this too disturbs nobody. None without
/// firmware.
[[nodiscard]] std::optional<content::FileOperation> firmware_link(const base::Root& root,
                                                                  const Driver& driver);

struct SelectionFiles {
    std::vector<content::FileOperation> before_index; ///< up to and with the one that matters
    std::vector<content::FileOperation> after_index;
};

/// For `kernel` to boot `driver`, or none. `tools` lead to the programs of its userland, `old_tools` to those that
/// were there. With none, `options` and `others`, which current_userland() was, are another kernel's
/// selection's.
[[nodiscard]] SelectionFiles selection_files(std::string_view kernel, const std::optional<Driver>& driver,
                                             const std::vector<content::FileOperation>& tools,
                                             const std::vector<content::FileOperation>& old_tools,
                                             const std::string& options, const std::string& others = {});
/// The same by the args of driver.select, for "from" or "to"; with "boots_only" only what is of this kernel alone.
[[nodiscard]] SelectionFiles selection_files(const base::Root& root, const base::Json& args,
                                             const std::string& which);

/// The module set that `kernel` boots, by its directory; empty: none.
[[nodiscard]] std::string boot_modules(const base::Root& root, std::string_view kernel);
/// Where `current` leads while `kernel` runs.
[[nodiscard]] std::string userland_link_of(std::string_view kernel);
/// Where `current` leads, as it stands in the link; empty: it is not there, and nor is the linker's file.
[[nodiscard]] std::string current_userland(const base::Root& root);

/// What leads to the programs in its userland's bin/: links, or for a locked part that the host has a package of
/// (locked_parts.hpp) its unit's drop-in.
[[nodiscard]] std::vector<content::FileOperation> tools_of(const base::Root& root,
                                                           const std::optional<Driver>& driver);

inline constexpr std::string_view options_file = "/etc/modprobe.d/gpuhost.conf";
/// Its content: parameters as options, and nouveau kept away.
[[nodiscard]] std::string modprobe_options(const std::vector<std::string>& parameters);
/// The parameters in it, by module, as split_parameters() has them.
[[nodiscard]] std::map<std::string, std::string> parse_modprobe_options(std::string_view text);

} // namespace gpuhost::kmod
