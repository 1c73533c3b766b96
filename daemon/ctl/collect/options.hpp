// SPDX-License-Identifier: Apache-2.0
// Options of 'bundle collect' that chosen_request() reads.
#pragma once

#include "daemon/ctl/cli/verb.hpp"

namespace gpuhost::ctl {

inline constexpr Option distribution_option{"distribution", "NAME",
                                            "the hosts' distribution: debian-12, debian-13 or ubuntu-24.04"};
inline constexpr Option driver_option{"driver", "VERSION", "a driver version, as 535.261.03", false, true};
inline constexpr Option kernel_option{"kernel", "RELEASE", "a kernel of the hosts, whose headers are needed",
                                      false, true};
inline constexpr Option image_option{"image", "NAME", "a container image with its tag, from its registry",
                                     false, true};
inline constexpr Option package_option{
    "package", "PACKAGE", "a further package of the archive, or a .deb file with its dependencies", false,
    true};
inline constexpr Option mirror_option{
    "mirror", "URL", "an archive of packages to use instead of the distribution's servers", false, true};
inline constexpr Option keyring_option{"keyring", "FILE", "the OpenPGP keys that sign the archive", false,
                                       true};
inline constexpr Option host_status_option{
    "host-status", "FILE", "a host's /var/lib/dpkg/status: leave out packages installed there"};
inline constexpr Option driver_files_option{
    "driver-files", "PATH", "take driver packages from this directory or https URL instead of the archive",
    false, true};
inline constexpr Option platform_option{"platform", "linux/amd64|linux/arm64",
                                        "the hosts' platform; default: linux/amd64"};
inline constexpr Option directory_option{"directory", "DIRECTORY",
                                         "where to put the files; created if needed"};
inline constexpr Option bundle_name_option{"name", "NAME", "the bundle's name; default: site"};
inline constexpr Option generation_option{"generation", "NUMBER",
                                          "the bundle's generation, a number that grows; default: 0"};
inline constexpr Option collect_dry_run_option{"dry-run", "",
                                               "list what would be fetched; fetch only the archive's index"};

} // namespace gpuhost::ctl
