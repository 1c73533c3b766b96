// SPDX-License-Identifier: Apache-2.0
// Step store.stage: makes checked, normalised sets from the input files, in the staging directory. Runs as a
// user without other rights.
#pragma once

#include "daemon/core/step.hpp"
#include "kmod/store/manifest.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

struct ImportFile {
    int fd = -1;
    std::string name; ///< base name, for messages
};

struct ImportedPackage {
    std::string package;
    std::string version;
    std::uint64_t kept = 0;
    std::uint64_t ignored = 0; ///< files that a GPU host does not need
};

struct Imported {
    std::string version;
    std::string kernel;              ///< of built modules
    std::string flavour;             ///< of built modules
    std::vector<std::string> places; ///< "550.163.01/userland"
    std::vector<ImportedPackage> packages;
};

using OnProgress = std::function<void(double fraction, std::string_view text)>;

inline constexpr std::string_view make_room =
    "Free some space in /var/lib/gpuhost, for example with 'gpuhostctl driver remove'.";
/// Bytes to leave free on the disk for other users.
inline constexpr std::uint64_t import_reserve = std::uint64_t{64} << 20U;

/// Stages packages of one driver version: at most one userland, one source set for each flavour, and one
/// module set for each kernel. `space` is the number of bytes that may be written, regardless of what the
/// packages declare.
[[nodiscard]] base::Result<Imported> stage_packages(const base::Root& staging,
                                                    const std::vector<ImportFile>& files, std::uint64_t space,
                                                    const OnProgress& progress);

/// Stages the files of one import: packages, or built modules.
[[nodiscard]] base::Result<Imported> stage_files(const base::Root& staging,
                                                 const std::vector<ImportFile>& files, std::uint64_t space,
                                                 const OnProgress& progress);

/// Returns the number of bytes that an import may write now.
[[nodiscard]] base::Result<std::uint64_t> usable_space(const base::Root& root);

[[nodiscard]] core::StepKind store_stage_kind();

} // namespace gpuhost::kmod
