// SPDX-License-Identifier: Apache-2.0
// The driver store: what stands in /var/lib/gpuhost/driver, as values.
//
//   <version>/userland/<digest>/{manifest.json,lib,bin,firmware,doc}
//   <version>/modules/<kernel>-<flavour>/<digest>/{manifest.json,*.ko}
//   <version>/source/<flavour>/<digest>/{manifest.json,PACKAGE}
//   selected/<kernel>        which generation this kernel boots, and which before (JSON)
//   boot/<kernel>, current, generation/<name>   how the host finds it (kmod/boot/selection_files.hpp)
//   build-logs/<version>-<kernel>.log
//   initramfs/<kernel>, <kernel>.log   of its images (kmod/boot/initramfs.hpp)
//   .trash/<transaction>     what a transaction is removing
//
// A set (userland, modules, source) is named by the SHA-256 of its manifest, which names every file in it by
// digest (kmod/store/manifest.hpp). It never changes once it is in place. Reading the store reads manifests only.
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
    std::string name; ///< as the kernel says it: "nvidia_drm"
    std::string file; ///< in the set's directory: "nvidia-drm.ko"
    std::string version;
    std::string srcversion;
    std::string vermagic;
    std::vector<std::string> depends; ///< module names
    std::uint64_t size = 0;
    std::string sha256;
    std::string signer; ///< who signed it, as far as the file says; empty: nobody, or not known
};

struct Userland {
    std::string digest;
    std::string path; ///< the set's directory
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    bool nvml = false;                 ///< has libnvidia-ml.so.1
    std::vector<std::string> firmware; ///< names in firmware/: "gsp_ga10x.bin"
    std::int64_t published_us = 0;     ///< CLOCK_REALTIME
    std::vector<std::string>
        closed_gpus{}; ///< "10de:1db6": not driven by its open modules, as far as it is known
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
    std::string
        directory; ///< where the source stands in that package: "usr/src/nvidia-current-open-550.163.01"
    std::uint64_t size = 0;
    std::string sha256;
    std::int64_t published_us = 0;
};

/// All sets of one version, each list newest first: the first that fits is the one to use.
struct DriverVersion {
    std::string version;
    std::vector<Userland> userland;
    std::vector<ModuleSet> modules;
    std::vector<SourceSet> sources;
};

/// A userland and a module set that fit, by digest.
struct Generation {
    std::string version;
    std::string userland; ///< may be empty: modules alone
    std::string modules;
    friend bool operator==(const Generation&, const Generation&) = default;
};

struct Selection {
    Generation generation;
    std::optional<Generation> previous; ///< what rollback goes to
    friend bool operator==(const Selection&, const Selection&) = default;
};

struct Store {
    std::map<std::string, Selection> selected; ///< by kernel
    std::vector<DriverVersion> versions;       ///< newest version first
    std::vector<std::string> problems;         ///< sets that can't be read, as sentences

    [[nodiscard]] const DriverVersion* find(std::string_view version) const;
    [[nodiscard]] const Userland* find_userland(std::string_view version, std::string_view digest) const;
    [[nodiscard]] const ModuleSet* find_modules(std::string_view version, std::string_view digest) const;
    /// The newest module set of `version` for `kernel`; with `flavour` empty the open one, or else the proprietary one.
    [[nodiscard]] const ModuleSet* modules_for(std::string_view version, std::string_view kernel,
                                               std::string_view flavour = {}) const;
};

/// Never fails on a damaged set: that is a problem in the result. An absent store is an empty one.
[[nodiscard]] base::Result<Store> read_store(const base::Root& root);

/// Empty when nothing is selected for `kernel`.
[[nodiscard]] base::Result<std::optional<Selection>> read_selection(const base::Root& root,
                                                                    std::string_view kernel);
/// Those of installed kernels: what they boot must stay. Unlike read_store it fails on one that can't be read.
[[nodiscard]] base::Result<std::map<std::string, Selection>> read_selections(const base::Root& root);
/// Of a kernel's package, not of ours: the link in updates/ keeps /lib/modules/<kernel> after its removal.
[[nodiscard]] bool kernel_is_installed(const base::Root& root, const std::string& kernel);
/// All of these, in order of name.
[[nodiscard]] std::vector<std::string> installed_kernels(const base::Root& root);
/// No kernel boots `version` or rolls back to it from here on.
[[nodiscard]] base::Result<void> forget_selected(const base::Root& root, std::string_view version);
/// Atomic and durable.
[[nodiscard]] base::Result<void> write_selection(const base::Root& root, std::string_view kernel,
                                                 const Selection& selection);
[[nodiscard]] base::Result<void> remove_selection(const base::Root& root, std::string_view kernel);

/// Does this problem of a store name something of `version`?
[[nodiscard]] bool is_of_version(std::string_view problem, std::string_view version);
/// What mends a damaged set, as sentences. `path` is the set's or that of something in it; what follows it, as in
/// an error's text, does no harm.
[[nodiscard]] std::string mending_hint(std::string_view path);

/// Where the store stands, or will stand.
[[nodiscard]] base::Result<std::uint64_t> free_space(const base::Root& root);

/// Is this module that uses the driver in none of the store's sets: gdrdrv, nvidia_fs, a third party's
/// nvidia_peermem? It has to go with the driver, and may well fit the next one too.
[[nodiscard]] bool is_others(const Store& store, const std::string& name);

/// -1, 0, 1: "535.261.03" is older than "550.54.14".
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

/// `driver list --json` (org.gpuhost1(5)), without "kernel", which the caller adds. Both ways, so that planning
/// works on it.
[[nodiscard]] base::Json to_json(const Store& store);
[[nodiscard]] Store store_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const Selection& selection);
[[nodiscard]] std::optional<Selection> selection_from_json(const base::Json& value);

} // namespace gpuhost::kmod
