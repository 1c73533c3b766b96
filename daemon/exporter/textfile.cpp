// SPDX-License-Identifier: Apache-2.0
#include "daemon/exporter/textfile.hpp"

#include "daemon/base/root.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::exporter {

using base::Errc;
using base::Error;
using base::Result;
using base::UniqueFd;

namespace {

Result<UniqueFd> open_directory(const std::string& path) {
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS;
    UniqueFd directory(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    if (directory)
        return directory;
    if (errno == ELOOP)
        return base::fail(Errc::InvalidArgument, "'" + path + "' has a symbolic link in its path",
                          "Name the directory without links: realpath " + path + ".");
    Error error = base::errno_error("'" + path + "'", errno);
    error.hint = "Name the directory that node_exporter reads: its option --collector.textfile.directory.";
    return base::fail(std::move(error));
}

} // namespace

Result<void> write_textfile(const std::string& path, const std::string& text) {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const std::string name = "/" + path.substr(slash == std::string::npos ? 0 : slash + 1);
    GPUHOST_TRY(opened, open_directory(directory));
    const base::Root root = base::Root::of(std::move(opened), directory);
    const auto present = root.lstat(name);
    if (present ? !S_ISREG(present->st_mode) : present.error().code != Errc::NotFound)
        return base::fail(Errc::AlreadyExists, "'" + path + "' is not a regular file",
                          "Name a file in the directory that node_exporter reads.");
    return root.write_atomic(name, text, 0644).map_error([&](Error error) {
        error.message = "'" + path + "'" + error.message.substr(std::min(name.size(), error.message.size()));
        return error;
    });
}

} // namespace gpuhost::exporter
