// SPDX-License-Identifier: Apache-2.0
// manifest.json of a set in the driver store: every file by digest, and what the set is.
//
// Canonical: members in order of name, no blanks. So the set's name, the SHA-256 of this text, says all of
// its content.
#pragma once

#include "daemon/content/tree.hpp"
#include "kmod/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

inline constexpr std::string_view manifest_name = "manifest.json";
inline constexpr std::size_t manifest_limit = std::size_t{4} << 20U;

enum class SetKind { Userland, Modules, Source };
[[nodiscard]] std::string_view name(SetKind kind) noexcept;

struct Manifest {
    SetKind kind = SetKind::Userland;
    std::string version;
    std::string kernel;                   ///< Modules
    std::string flavour;                  ///< Modules, Source
    std::string directory;                ///< Source: where the source stands in the package
    std::vector<content::TreeFile> files; ///< in order of path, without the manifest itself
    std::vector<ModuleFile> modules;      ///< Modules: one for each file
};

[[nodiscard]] std::string encode(const Manifest& manifest);

/// Strict: what is not canonical, has names that can't be path components, or modules that are not among its
/// files is BadContent.
[[nodiscard]] base::Result<Manifest> decode_manifest(std::string_view text, std::string_view what);

/// Where sets like this one stand, each below its digest: "550.163.01/modules/6.1.0-50-amd64-open".
[[nodiscard]] std::string set_place(const Manifest& manifest);

/// Hashes the set that stands in `directory` (a host path is not needed: `fd` is it open) and compares. Each
/// file that differs, lacks or is too much is one string; none means intact.
[[nodiscard]] base::Result<std::vector<std::string>>
check_set(int fd, const Manifest& manifest, const std::string& what, const content::OnBytes& on_bytes = {});

} // namespace gpuhost::kmod
