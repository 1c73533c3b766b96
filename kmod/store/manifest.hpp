// SPDX-License-Identifier: Apache-2.0
// The manifest.json of a set in the driver store: what the set is, and the digest of every file in it.
//
// Its JSON is canonical: keys in order of name, no blanks. The SHA-256 of this text is the name of the set's
// directory, and so depends on all content of the set.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_list.hpp"
#include "daemon/content/set/set_writer.hpp"
#include "kmod/store/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

using content::manifest_name;

enum class SetKind { Userland, Modules, Source };
[[nodiscard]] std::string_view name(SetKind kind) noexcept;

struct Manifest {
    SetKind kind = SetKind::Userland;
    std::string version;
    std::string kernel;    ///< for kind Modules: release of the kernel
    std::string flavour;   ///< for kinds Modules and Source: "open" or "proprietary"
    std::string directory; ///< for kind Source: directory of the source in the package
    /// For kind Userland: the result of parse_supported_gpus(). Empty: the packages had no list, or all GPUs
    /// work with the open modules.
    std::vector<std::string> closed_gpus;
    std::vector<content::TreeFile> files; ///< all files of the set in order of path, without manifest.json
    std::vector<ModuleFile> modules;      ///< for kind Modules: one for each file
};

/// Returns the canonical text of a manifest.
[[nodiscard]] std::string encode(const Manifest& manifest);

/// Parses a manifest. `what` names it in errors. Fails with BadContent if it is not canonical, has names that
/// cannot be path components, or lists modules that are not among its files.
[[nodiscard]] base::Result<Manifest> decode_manifest(std::string_view text, std::string_view what);

/// Returns the directory below the store that contains this set and others of the same kind, each in a
/// directory named by its digest: "550.163.01/modules/6.1.0-50-amd64-open".
[[nodiscard]] std::string set_place(const Manifest& manifest);

/// Adds the files that `writer` has written to `manifest`, and writes it as manifest.json.
[[nodiscard]] base::Result<void> finish_set(content::SetWriter& writer, Manifest manifest);

/// An open set directory with its parsed manifest. Its files have not been read.
struct SetOnDisk {
    base::UniqueFd directory;
    Manifest manifest;
    std::string digest;            ///< digest of the manifest
    std::int64_t published_us = 0; ///< CLOCK_REALTIME
};
/// Opens the set in the directory `path` as content::open_set() does, and parses its manifest.
[[nodiscard]] base::Result<SetOnDisk> read_set_at(const base::Root& root, const std::string& path);

} // namespace gpuhost::kmod
