// SPDX-License-Identifier: Apache-2.0
#include "images/plain_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

Result<std::string> read_plain_file(const base::Root& root, std::string_view path, std::size_t limit) {
    GPUHOST_TRY(fd, root.open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat st {};
    if (::fstat(fd.get(), &st) < 0)
        return base::fail_errno(path, errno);
    if (!S_ISREG(st.st_mode))
        return base::fail(Errc::BadContent, std::string(path) + ": is no file");
    return base::read_all(fd.get(), limit, path);
}

} // namespace gpuhost::images
