// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/small_file.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::ctl {

base::Result<std::string> read_small_file(const std::string& path, std::size_t limit) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd)
        return base::fail_errno("'" + path + "'", errno);
    return base::read_all(fd.get(), limit, path);
}

base::Result<std::string> read_regular_file(const std::string& path, std::size_t limit) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) < 0)
        return base::fail_errno("'" + path + "'", errno);
    if (!S_ISREG(st.st_mode))
        return base::fail(base::Errc::InvalidArgument, "'" + path + "': not a regular file");
    return base::read_all(fd.get(), limit, path);
}

} // namespace gpuhost::ctl
