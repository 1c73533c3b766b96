// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/plain_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

Result<base::UniqueFd> open_plain_file(const base::Root& root, std::string_view path) {
    auto fd = root.open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    struct stat st {};
    if (fd && ::fstat(fd->get(), &st) < 0)
        return base::fail_errno(path, errno);
    if (fd && S_ISREG(st.st_mode))
        return fd;
    const auto link = root.lstat(path); // open(2) fails with ELOOP for a link
    if (fd || (link && S_ISLNK(link->st_mode)))
        return base::fail(Errc::BadContent, std::string(path) + ": is not a regular file");
    return fd;
}

Result<std::string> read_plain_file(const base::Root& root, std::string_view path, std::size_t limit) {
    GPUHOST_TRY(fd, open_plain_file(root, path));
    return base::read_all(fd.get(), limit, path);
}

} // namespace gpuhost::images
