// SPDX-License-Identifier: Apache-2.0
// The manifest.json of a set in the driver store: the kind of the set, and every file with its digest.
//
// Canonical: members in order of name, no blanks. The SHA-256 of this text is the set's name and thus covers
// all of its content.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_list.hpp"
#include "daemon/content/set/set_writer.hpp"
#include "kmod/store/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

using content::manifest_limit;
using content::manifest_name;

enum class SetKind { Userland, Modules, Source };
[[nodiscard]] std::string_view name(SetKind kind) noexcept;

struct Manifest {
    SetKind kind = SetKind::Userland;
    std::string version;
    std::string kernel;                   ///< Modules
    std::string flavour;                  ///< Modules, Source
    std::string directory;                ///< Source: directory of the source in the package
    std::vector<std::string> closed_gpus; ///< Userland: see supported_gpus.hpp; empty: it had no list
    std::vector<content::TreeFile> files; ///< in order of path, without the manifest itself
    std::vector<ModuleFile> modules;      ///< Modules: one for each file
};

[[nodiscard]] std::string encode(const Manifest& manifest);

/// Parses a manifest strictly. Fails with BadContent if it is not canonical, has names that cannot be path
/// components, or has modules that are not among its files.
[[nodiscard]] base::Result<Manifest> decode_manifest(std::string_view text, std::string_view what);

/// Returns the directory of sets like this one, each below its digest:
/// "550.163.01/modules/6.1.0-50-amd64-open".
[[nodiscard]] std::string set_place(const Manifest& manifest);

/// Adds the written files to `manifest` and writes it.
[[nodiscard]] base::Result<void> finish_set(content::SetWriter& writer, Manifest manifest);

/// A set on disk with its manifest; its files are not read.
struct SetOnDisk {
    base::UniqueFd directory;
    Manifest manifest;
    std::string digest; ///< of the manifest
    std::int64_t published_us = 0;
};
/// Reads a set's manifest. Follows no link below `path`. If the directory is named by a digest, fails with
/// BadContent if the manifest has another one.
[[nodiscard]] base::Result<SetOnDisk> read_set_at(const base::Root& root, const std::string& path);

struct CheckedSet {
    SetOnDisk set;
    /// files that differ, are missing or are not in the manifest; empty: intact
    std::vector<std::string> bad;
};
/// Hashes all files of the set at `path` and compares them with its manifest.
[[nodiscard]] base::Result<CheckedSet> check_set_at(const base::Root& root, const std::string& path,
                                                    const content::OnBytes& on_bytes = {});

} // namespace gpuhost::kmod
