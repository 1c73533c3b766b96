// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/small_file.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"

#include <cerrno>

#include <fcntl.h>

namespace gpuhost::ctl {

base::Result<std::string> read_small_file(const std::string& path, std::size_t limit) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd)
        return base::fail_errno("'" + path + "'", errno);
    return base::read_all(fd.get(), limit, path);
}

} // namespace gpuhost::ctl
