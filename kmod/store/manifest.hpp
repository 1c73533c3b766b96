// SPDX-License-Identifier: Apache-2.0
// manifest.json of a set in the driver store: every file by digest, and what the set is.
//
// Canonical: members in order of name, no blanks. So the set's name, the SHA-256 of this text, says all of
// its content.
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
    std::string kernel;    ///< Modules
    std::string flavour;   ///< Modules, Source
    std::string directory; ///< Source: where the source stands in the package
    std::vector<std::string>
        closed_gpus; ///< Userland: those of supported_gpus.hpp; none: it came without the list
    std::vector<content::TreeFile> files; ///< in order of path, without the manifest itself
    std::vector<ModuleFile> modules;      ///< Modules: one for each file
};

[[nodiscard]] std::string encode(const Manifest& manifest);

/// Strict: what is not canonical, has names that can't be path components, or modules that are not among its
/// files is BadContent.
[[nodiscard]] base::Result<Manifest> decode_manifest(std::string_view text, std::string_view what);

/// Where sets like this one stand, each below its digest: "550.163.01/modules/6.1.0-50-amd64-open".
[[nodiscard]] std::string set_place(const Manifest& manifest);

/// Puts what was written into `manifest` and writes that.
[[nodiscard]] base::Result<void> finish_set(content::SetWriter& writer, Manifest manifest);

/// A set on disk: what its manifest says, and no look at its files.
struct SetOnDisk {
    base::UniqueFd directory;
    Manifest manifest;
    std::string digest; ///< the manifest's
    std::int64_t published_us = 0;
};
/// Follows no link below `path`. Where a set is in its place, so that its directory is named by the manifest's
/// digest, another digest is BadContent.
[[nodiscard]] base::Result<SetOnDisk> read_set_at(const base::Root& root, const std::string& path);

struct CheckedSet {
    SetOnDisk set;
    std::vector<std::string> bad; ///< each file that differs, lacks or is too much; none means intact
};
/// Hashes all of the set at `path` and compares it with its manifest.
[[nodiscard]] base::Result<CheckedSet> check_set_at(const base::Root& root, const std::string& path,
                                                    const content::OnBytes& on_bytes = {});

} // namespace gpuhost::kmod
