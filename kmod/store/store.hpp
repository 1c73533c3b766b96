// SPDX-License-Identifier: Apache-2.0
// The driver store: reads the content of /var/lib/gpuhost/driver into values.
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
// A set is a directory with a part of one driver version: userland, modules for one kernel, or source. Its
// name is the SHA-256 of its manifest, which has the digest of every file in it (kmod/store/manifest.hpp). A
// set in the store never changes. To read the store, only the manifests are read.
#pragma once

#include "daemon/base/json_fwd.hpp"
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
    std::string name; ///< with underscores: "nvidia_drm"
    std::string file; ///< file in the set's directory: "nvidia-drm.ko"
    std::string version;
    std::string srcversion;
    std::string vermagic;
    std::vector<std::string> depends; ///< names of the modules that it needs
    std::uint64_t size = 0;
    std::string sha256;
    std::string signer; ///< name of the signer in the file's signature; empty: unsigned, or not readable
};

struct Userland {
    std::string digest;
    std::string path; ///< the set's directory
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    bool nvml = false;                 ///< whether it has libnvidia-ml.so.1
    std::vector<std::string> firmware; ///< names in firmware/: "gsp_ga10x.bin"
    std::int64_t published_us = 0;     ///< CLOCK_REALTIME
    /// GPUs that the open modules of this version do not drive: "10de:1db6".
    std::vector<std::string> closed_gpus{};
};

struct ModuleSet {
    std::string kernel;  ///< "6.1.0-50-amd64"
    std::string flavour; ///< "open" or "proprietary"
    std::string digest;
    std::string path;
    std::vector<ModuleFile> modules; ///< in order of file name
    std::int64_t published_us = 0;
};

/// The source of the kernel modules of one version, in one flavour.
struct SourceSet {
    std::string flavour;
    std::string digest;
    std::string path;
    std::string file; ///< the package with the source, in the set's directory
    /// Directory of the source in that package: "usr/src/nvidia-current-open-550.163.01".
    std::string directory;
    std::uint64_t size = 0;
    std::string sha256;
    std::int64_t published_us = 0;
};

/// All sets of one driver version. Each list is in order of publication, the newest first, so callers use the
/// first set that fits.
struct DriverVersion {
    std::string version;
    std::vector<Userland> userland;
    std::vector<ModuleSet> modules;
    std::vector<SourceSet> sources;
};

/// The digests of a userland and a module set of the same driver version, which are selected together.
struct Generation {
    std::string version;
    std::string userland; ///< empty: only modules
    std::string modules;
    friend bool operator==(const Generation&, const Generation&) = default;
};

/// The generation that one kernel boots, and the one before.
struct Selection {
    Generation generation;
    /// The generation that was selected before, which a rollback selects again. No value: no rollback is
    /// possible.
    std::optional<Generation> previous;
    friend bool operator==(const Selection&, const Selection&) = default;
};

/// The content of the store.
struct Store {
    std::map<std::string, Selection> selected; ///< by kernel
    std::vector<DriverVersion> versions;       ///< newest version first
    std::vector<std::string> problems;         ///< sentences about sets and selections that cannot be read

    /// Returns null if no driver is selected for `kernel`.
    [[nodiscard]] const Selection* selection_of(const std::string& kernel) const;
    [[nodiscard]] const DriverVersion* find(std::string_view version) const;
    [[nodiscard]] const Userland* find_userland(std::string_view version, std::string_view digest) const;
    [[nodiscard]] const ModuleSet* find_modules(std::string_view version, std::string_view digest) const;
    /// Returns the newest module set of `version` for `kernel` in this flavour; null if there is none. If
    /// `flavour` is empty, an open set precedes a proprietary one.
    [[nodiscard]] const ModuleSet* modules_for(std::string_view version, std::string_view kernel,
                                               std::string_view flavour = {}) const;
};

/// Returns whether `version` has a newer module set for the same kernel and flavour. Plans then use `set`
/// only where it is selected.
[[nodiscard]] bool is_superseded(const DriverVersion& version, const ModuleSet& set);

/// Returns whether all modules of the set are signed.
[[nodiscard]] bool is_signed(const ModuleSet& set);

/// Reads the store. A set or selection that cannot be read is left out, and reported in Store::problems. If
/// the store does not exist, the result is empty.
[[nodiscard]] base::Result<Store> read_store(const base::Root& root);

/// Returns the selection of `kernel`; nothing if no driver is selected for it.
[[nodiscard]] base::Result<std::optional<Selection>> read_selection(const base::Root& root,
                                                                    std::string_view kernel);
/// Returns the selections of all installed kernels, by release. Their drivers must stay in the store. Fails
/// if one cannot be read, unlike read_store().
[[nodiscard]] base::Result<std::map<std::string, Selection>> read_selections(const base::Root& root);
/// Removes the selections of `version`, and `version` as the target of a rollback, for all kernels. Changes
/// only the records in selected/.
[[nodiscard]] base::Result<void> forget_selected(const base::Root& root, std::string_view version);
/// Writes the selection atomically and durably.
[[nodiscard]] base::Result<void> write_selection(const base::Root& root, std::string_view kernel,
                                                 const Selection& selection);
[[nodiscard]] base::Result<void> remove_selection(const base::Root& root, std::string_view kernel);

/// Returns whether an element of Store::problems is about a set of `version`.
[[nodiscard]] bool is_of_version(std::string_view problem, std::string_view version);
/// Returns a hint how to repair a damaged set or selection. `path` is its path, or one below it; text after
/// the path is ignored, so that an error's message can be passed.
[[nodiscard]] std::string mending_hint(std::string_view path);

/// Returns the free bytes on the file system of the store, also if the store does not exist yet.
[[nodiscard]] base::Result<std::uint64_t> free_space(const base::Root& root);

/// Returns whether a loaded module `name` that uses the driver is not part of any set in the store, such as
/// gdrdrv or nvidia_fs. A swap must unload it, and cannot know whether it can be loaded with the next driver.
/// Returns false for nouveau.
[[nodiscard]] bool is_others(const Store& store, const std::string& name);

/// Returns the document of 'gpuhostctl driver list --json' (org.gpuhost1(5)). The caller adds
/// its member "kernel".
[[nodiscard]] base::Json to_json(const Store& store);
[[nodiscard]] base::Json to_json(const Selection& selection);
[[nodiscard]] std::optional<Selection> selection_from_json(const base::Json& value);

} // namespace gpuhost::kmod
