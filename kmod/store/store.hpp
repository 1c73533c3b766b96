// SPDX-License-Identifier: Apache-2.0
// The driver store: the content of /var/lib/gpuhost/driver, as values.
//
//   <version>/userland/<digest>/{manifest.json,lib,bin,firmware,doc}
//   <version>/modules/<kernel>-<flavour>/<digest>/{manifest.json,*.ko}
//   <version>/source/<flavour>/<digest>/{manifest.json,PACKAGE}
//   selected/<kernel>                           generation that this kernel boots, and the one before (JSON)
//   boot/<kernel>, current, generation/<name>   links to the selected driver (kmod/boot/selection_files.hpp)
//   build-logs/<version>-<kernel>.log
//   initramfs/<kernel>, <kernel>.log            records and log of its images (kmod/boot/initramfs.hpp)
//   .trash/<transaction>                        what a transaction is removing
//
// A set (userland, modules, source) is named by the SHA-256 of its manifest, which names every file in it by
// digest (kmod/store/manifest.hpp). It never changes once it is in place. Reading the store reads only the
// manifests.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

inline constexpr std::string_view store_directory = "/var/lib/gpuhost/driver";
inline constexpr std::string_view selected_directory = "/var/lib/gpuhost/driver/selected";
inline constexpr std::string_view build_logs_directory = "/var/lib/gpuhost/driver/build-logs";

struct ModuleFile {
    std::string name; ///< in the kernel's spelling: "nvidia_drm"
    std::string file; ///< in the set's directory: "nvidia-drm.ko"
    std::string version;
    std::string srcversion;
    std::string vermagic;
    std::vector<std::string> depends; ///< module names
    std::uint64_t size = 0;
    std::string sha256;
    std::string signer; ///< the signer according to the file; empty: unsigned, or unknown
};

struct Userland {
    std::string digest;
    std::string path; ///< the set's directory
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    bool nvml = false;                      ///< has libnvidia-ml.so.1
    std::vector<std::string> firmware;      ///< names in firmware/: "gsp_ga10x.bin"
    std::int64_t published_us = 0;          ///< CLOCK_REALTIME
    std::vector<std::string> closed_gpus{}; ///< "10de:1db6": known not to be driven by its open modules
};

struct ModuleSet {
    std::string kernel;  ///< "6.1.0-50-amd64"
    std::string flavour; ///< "open" or "proprietary"
    std::string digest;
    std::string path;
    std::vector<ModuleFile> modules; ///< in order of file name
    std::int64_t published_us = 0;
};

struct SourceSet {
    std::string flavour;
    std::string digest;
    std::string path;
    std::string file; ///< the sealed package in the set's directory
    /// Directory of the source in that package: "usr/src/nvidia-current-open-550.163.01".
    std::string directory;
    std::uint64_t size = 0;
    std::string sha256;
    std::int64_t published_us = 0;
};

/// All sets of one version, each list newest first: the first match is the one to use.
struct DriverVersion {
    std::string version;
    std::vector<Userland> userland;
    std::vector<ModuleSet> modules;
    std::vector<SourceSet> sources;
};

/// A matching userland and module set, by digest.
struct Generation {
    std::string version;
    std::string userland; ///< may be empty: modules alone
    std::string modules;
    friend bool operator==(const Generation&, const Generation&) = default;
};

struct Selection {
    Generation generation;
    std::optional<Generation> previous; ///< the target of a rollback
    friend bool operator==(const Selection&, const Selection&) = default;
};

struct Store {
    std::map<std::string, Selection> selected; ///< by kernel
    std::vector<DriverVersion> versions;       ///< newest version first
    std::vector<std::string> problems;         ///< sentences on sets that cannot be read

    [[nodiscard]] const DriverVersion* find(std::string_view version) const;
    [[nodiscard]] const Userland* find_userland(std::string_view version, std::string_view digest) const;
    [[nodiscard]] const ModuleSet* find_modules(std::string_view version, std::string_view digest) const;
    /// Returns the newest module set of `version` for `kernel`. With an empty `flavour` it prefers the open
    /// one.
    [[nodiscard]] const ModuleSet* modules_for(std::string_view version, std::string_view kernel,
                                               std::string_view flavour = {}) const;
};

/// Reads the store. A damaged set is a problem in the result, not an error. A store that does not exist is
/// empty.
[[nodiscard]] base::Result<Store> read_store(const base::Root& root);

/// Returns nothing if no driver is selected for `kernel`.
[[nodiscard]] base::Result<std::optional<Selection>> read_selection(const base::Root& root,
                                                                    std::string_view kernel);
/// Returns the selections of installed kernels, whose drivers must stay. Unlike read_store() it fails if one
/// cannot be read.
[[nodiscard]] base::Result<std::map<std::string, Selection>> read_selections(const base::Root& root);
/// Returns whether the kernel's own files are installed. Our link in updates/ keeps /lib/modules/<kernel>
/// after its package is removed.
[[nodiscard]] bool kernel_is_installed(const base::Root& root, const std::string& kernel);
/// Returns all installed kernels in order of name.
[[nodiscard]] std::vector<std::string> installed_kernels(const base::Root& root);
/// Removes `version` from all selections: no kernel boots it or rolls back to it afterwards.
[[nodiscard]] base::Result<void> forget_selected(const base::Root& root, std::string_view version);
/// Writes the selection atomically and durably.
[[nodiscard]] base::Result<void> write_selection(const base::Root& root, std::string_view kernel,
                                                 const Selection& selection);
[[nodiscard]] base::Result<void> remove_selection(const base::Root& root, std::string_view kernel);

/// Returns whether this problem of a store names something of `version`.
[[nodiscard]] bool is_of_version(std::string_view problem, std::string_view version);
/// Returns sentences on how to repair a damaged set. `path` is that of the set or of something in it. Text
/// after the path, as in an error's message, is ignored.
[[nodiscard]] std::string mending_hint(std::string_view path);

/// Returns the free bytes on the disk of the store, also before the store exists.
[[nodiscard]] base::Result<std::uint64_t> free_space(const base::Root& root);

/// Returns whether a module that uses the driver is in none of the store's sets: gdrdrv, nvidia_fs, a third
/// party's nvidia_peermem. It must be unloaded with the driver, and may work with the next one too. False for
/// nouveau.
[[nodiscard]] bool is_others(const Store& store, const std::string& name);

/// Returns -1, 0 or 1: "535.261.03" is older than "550.54.14".
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

/// Converts to the document of `driver list --json` (org.gpuhost1(5)), without "kernel", which the caller
/// adds. Also converts back, for plans.
[[nodiscard]] base::Json to_json(const Store& store);
[[nodiscard]] Store store_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const Selection& selection);
[[nodiscard]] std::optional<Selection> selection_from_json(const base::Json& value);

} // namespace gpuhost::kmod
