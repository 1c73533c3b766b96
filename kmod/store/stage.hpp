// SPDX-License-Identifier: Apache-2.0
// Step store.stage: what a person passes becomes checked, normalised sets in the staging directory. Runs as a
// user that may do nothing else.
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
    std::uint64_t ignored = 0; ///< files that a GPU host has no use for
};

struct Imported {
    std::string version;
    std::string kernel;              ///< of modules
    std::string flavour;             ///< likewise
    std::vector<std::string> places; ///< "550.163.01/userland"
    std::vector<ImportedPackage> packages;
};

using OnProgress = std::function<void(double fraction, std::string_view text)>;

inline constexpr std::string_view make_room =
    "Make room in /var/lib/gpuhost, for instance with 'gpuhostctl driver remove'.";
/// Left free on the disk for everybody else.
inline constexpr std::uint64_t import_reserve = std::uint64_t{64} << 20U;

/// Debian packages of one driver version: at most one userland and one source set. `space` is what may be
/// written, whatever the packages say of themselves.
[[nodiscard]] base::Result<Imported> stage_packages(const base::Root& staging,
                                                    const std::vector<ImportFile>& files, std::uint64_t space,
                                                    const OnProgress& progress);

/// The same, or built modules: what a person passes to one import.
[[nodiscard]] base::Result<Imported> stage_files(const base::Root& staging,
                                                 const std::vector<ImportFile>& files, std::uint64_t space,
                                                 const OnProgress& progress);

/// What an import may write now.
[[nodiscard]] base::Result<std::uint64_t> usable_space(const base::Root& root);

[[nodiscard]] core::StepKind store_stage_kind();

} // namespace gpuhost::kmod
