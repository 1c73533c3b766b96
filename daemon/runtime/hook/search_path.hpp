// SPDX-License-Identifier: Apache-2.0
// The search path of a container's loader: the files that ldconfig reads, and musl's own.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// Names that sort in the order of the search. They are constant, so that a restarted container does not
/// accumulate files.
inline constexpr std::string_view compat_conf = "/etc/ld.so.conf.d/00-compat-gpuhost.conf";
inline constexpr std::string_view folders_conf = "/etc/ld.so.conf.d/00-gpuhost.conf";
inline constexpr std::string_view system_conf = "/etc/ld.so.conf.d/zz-gpuhost.conf";

/// Writes the search path. The driver's folders precede those of the image, except folders that the image
/// searches anyway, which keep their order. The built-in folders of the image's ldconfig are last, since the
/// host's may not know them.
/// Fails with Refused if these files are in mounts, which are neither read nor written.
[[nodiscard]] base::Result<void> write_search_path(const ContainerRoot& root,
                                                   const std::vector<std::string>& folders);

/// Content of one ld.so.conf. Its only manual page is ldconfig(8).
struct LdConf {
    std::vector<std::string> folders;
    std::vector<std::string> includes; ///< patterns as written
};
[[nodiscard]] LdConf parse_ld_conf(std::string_view text);

/// Returns musl's path file with the missing `folders` added. The file has lines or colons as separators.
[[nodiscard]] std::string with_musl_folders(std::string_view text, const std::vector<std::string>& folders);

} // namespace gpuhost::runtime
