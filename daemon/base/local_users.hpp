// SPDX-License-Identifier: Apache-2.0
// Finds users in files of this host. NSS may wait minutes for a directory server, which would block the
// daemon's loop.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace gpuhost::base {

struct LocalUser {
    std::string name;
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Searches /etc/passwd, then /usr/lib/passwd, which image-based systems use for their own users.
[[nodiscard]] std::optional<LocalUser> find_local_user(const std::string& name);
[[nodiscard]] std::optional<LocalUser> find_local_user(uid_t uid);

} // namespace gpuhost::base
