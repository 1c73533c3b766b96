// SPDX-License-Identifier: Apache-2.0
// Step store.stage: makes sets in the staging directory from the files of an import. Runs in a sandbox
// without privileges, because it parses untrusted files.
#pragma once

#include "daemon/content/set/import_files.hpp"
#include "daemon/core/step.hpp"
#include "kmod/store/manifest.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

using content::ImportFile;

struct ImportedPackage {
    std::string package;
    std::string version;
    std::uint64_t kept = 0;    ///< number of files in the userland
    std::uint64_t ignored = 0; ///< number of files that were left out, because a GPU host does not need them
};

struct Imported {
    std::string version;
    std::string kernel;              ///< of imported modules; empty for packages
    std::string flavour;             ///< of imported modules; empty for packages
    std::vector<std::string> places; ///< set_place() of each staged set: "550.163.01/userland"
    std::vector<ImportedPackage> packages;
};

using OnProgress = std::function<void(double fraction, std::string_view text)>;

/// The hint of errors about space.
inline constexpr std::string_view make_room =
    "Free some space in /var/lib/gpuhost, for example with 'gpuhostctl driver remove'.";

/// Makes the sets of packages, which must be of one driver version. The result has at most one userland, one
/// source set for each flavour, and one module set for each kernel. `space` is the number of bytes that may
/// be written, whatever sizes the packages declare. Fails with Refused if the packages declare another
/// version than `wanted` (empty: any).
[[nodiscard]] base::Result<Imported> stage_packages(const base::Root& staging,
                                                    const std::vector<ImportFile>& files, std::uint64_t space,
                                                    const OnProgress& progress,
                                                    const std::string& wanted = {});

/// Makes the sets of one import: `files` are either packages or built modules. Fails with Refused if they are
/// of another version than `wanted` (empty: any).
[[nodiscard]] base::Result<Imported> stage_files(const base::Root& staging,
                                                 const std::vector<ImportFile>& files, std::uint64_t space,
                                                 const OnProgress& progress, const std::string& wanted = {});

/// Fails with Refused if the files to import have another version than `wanted` (empty: any).
[[nodiscard]] base::Result<void> check_version(const std::string& version, const std::string& wanted);

[[nodiscard]] core::StepCode store_stage_code();

} // namespace gpuhost::kmod
