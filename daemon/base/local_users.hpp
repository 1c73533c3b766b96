// SPDX-License-Identifier: Apache-2.0
// Users of this host's own files. NSS may wait minutes for a directory server, and the daemon's loop may not.
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

/// Looks into /etc/passwd, then into /usr/lib/passwd, where image-based systems have their own users.
[[nodiscard]] std::optional<LocalUser> find_local_user(const std::string& name);
[[nodiscard]] std::optional<LocalUser> find_local_user(uid_t uid);

} // namespace gpuhost::base
