// SPDX-License-Identifier: Apache-2.0
#include "kmod/holder/mappers.hpp"

#include "daemon/base/file_users.hpp"

namespace gpuhost::kmod {

using base::Result;

Result<std::vector<Holder>> find_mappers(const base::Root& root, const std::string& directory) {
    GPUHOST_TRY(users, base::find_file_users(root, directory, "/driver/"));
    std::vector<Holder> mappers;
    for (const base::FileUser& user : users)
        mappers.push_back(identify(root, user.pid, {user.file}));
    return mappers;
}

} // namespace gpuhost::kmod
