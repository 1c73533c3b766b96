// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/local_users.hpp"

#include "daemon/base/handle.hpp"

#include <cstdio>

#include <pwd.h>

namespace gpuhost::base {
namespace {

template <class Matches>
std::optional<LocalUser> find(Matches matches) {
    for (const char* path : {"/etc/passwd", "/usr/lib/passwd"}) {
        const CHandle<std::FILE, std::fclose> file(std::fopen(path, "re"));
        // called with a single thread
        while (const passwd* const entry = file ? ::fgetpwent(file.get()) : nullptr)
            if (matches(*entry))
                return LocalUser{entry->pw_name, entry->pw_uid, entry->pw_gid};
    }
    return std::nullopt;
}

} // namespace

std::optional<LocalUser> find_local_user(const std::string& name) {
    return find([&](const passwd& entry) { return name == entry.pw_name; });
}

std::optional<LocalUser> find_local_user(uid_t uid) {
    return find([&](const passwd& entry) { return uid == entry.pw_uid; });
}

} // namespace gpuhost::base
