// SPDX-License-Identifier: Apache-2.0
// Where a container's loader looks for libraries: the files that ldconfig reads, and musl's own.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// Names that sort as the places are to be searched. They are always the same ones, so that a container that is started
/// again has no more of them.
inline constexpr std::string_view compat_conf = "/etc/ld.so.conf.d/00-compat-gpuhost.conf";
inline constexpr std::string_view folders_conf = "/etc/ld.so.conf.d/00-gpuhost.conf";
inline constexpr std::string_view system_conf = "/etc/ld.so.conf.d/zz-gpuhost.conf";

/// The driver's folders before what the image searches, but for those that it searches anyway, whose order is its own;
/// and last the folders that the image's own ldconfig has built in, which the host's may not know. Refused: files of it
/// are mounted, so they are neither read nor written.
[[nodiscard]] base::Result<void> write_search_path(const ContainerRoot& root,
                                                   const std::vector<std::string>& folders);

/// What one ld.so.conf says: ld.so.conf has no manual page but ldconfig(8).
struct LdConf {
    std::vector<std::string> folders;
    std::vector<std::string> includes; ///< patterns, as they are written
};
[[nodiscard]] LdConf parse_ld_conf(std::string_view text);

/// musl's path file with `folders` added that it lacks; it has lines, or colons between.
[[nodiscard]] std::string with_musl_folders(std::string_view text, const std::vector<std::string>& folders);

} // namespace gpuhost::runtime
