// SPDX-License-Identifier: Apache-2.0
// The search path of a container's dynamic loader: the files that ldconfig reads, and the path file of musl.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// gpuhost's files in the container. Their names sort in the order of the search. The names are constant, so
/// that a restarted container does not accumulate files.
inline constexpr std::string_view compat_conf = "/etc/ld.so.conf.d/00-compat-gpuhost.conf";
inline constexpr std::string_view folders_conf = "/etc/ld.so.conf.d/00-gpuhost.conf";
inline constexpr std::string_view system_conf = "/etc/ld.so.conf.d/zz-gpuhost.conf";

/// Writes the search path. `folders` are the directories of the driver's libraries. They precede the
/// directories of the image, but a directory that the image searches anyway keeps its position. The built-in
/// directories of the image's ldconfig are last, because the host's ldconfig may have others. Fails with
/// Refused if these files are on mounted file systems, which are neither read nor written.
[[nodiscard]] base::Result<void> write_search_path(const ContainerRoot& root,
                                                   const std::vector<std::string>& folders);

/// Content of one ld.so.conf. Its only manual page is ldconfig(8).
struct LdConf {
    std::vector<std::string> folders;
    std::vector<std::string> includes; ///< patterns as written
};
[[nodiscard]] LdConf parse_ld_conf(std::string_view text);

/// Returns the text of musl's path file with the missing `folders` added. Entries are separated by newlines
/// or colons.
[[nodiscard]] std::string with_musl_folders(std::string_view text, const std::vector<std::string>& folders);

} // namespace gpuhost::runtime
