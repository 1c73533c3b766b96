// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Result;

namespace {

constexpr unsigned most_attempts = 100;

bool has_no_unnamed_files(int error) {
    return error == EOPNOTSUPP || error == EISDIR || error == EINVAL;
}

} // namespace

Result<OutputFile> OutputFile::create(const std::string& path, mode_t mode) {
    OutputFile file;
    file.path_ = path;
    file.mode_ = mode;
    file.fd_.reset(::open(directory_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
    if (!file.fd_ && has_no_unnamed_files(errno)) {
        std::string name = path + ".XXXXXX";
        file.fd_.reset(::mkostemp(name.data(), O_CLOEXEC));
        if (file.fd_)
            file.temporary_ = std::move(name);
    }
    if (!file.fd_)
        return base::fail_errno("'" + path + "'", errno);
    return file;
}

OutputFile::~OutputFile() {
    if (fd_ && !temporary_.empty())
        (void)::unlink(temporary_.c_str());
}

/// link(2) takes no name that is there, rename(2) does: so it needs one of its own in between.
Result<void> OutputFile::give_temporary_name() {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    for (unsigned i = 0; i < most_attempts; ++i) {
        const std::string name = path_ + ".part" + (i == 0 ? "" : std::to_string(i));
        if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
            temporary_ = name;
            return {};
        }
        if (errno != EEXIST)
            break;
    }
    return base::fail_errno("'" + path_ + "'", errno);
}

Result<void> OutputFile::finish() {
    if (::fsync(fd_.get()) < 0)
        return base::fail_errno("'" + path_ + "'", errno);
    if (temporary_.empty())
        GPUHOST_CHECK(give_temporary_name());
    else if (::fchmod(fd_.get(), mode_) < 0) // mkostemp(3) made it for its owner alone
        return base::fail_errno("'" + path_ + "'", errno);
    if (::rename(temporary_.c_str(), path_.c_str()) < 0)
        return base::fail_errno("'" + path_ + "'", errno);
    fd_.reset();
    return {};
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Result<void> make_directory(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    return error ? Result<void>(base::fail_errno("'" + path + "'", error.value())) : Result<void>();
}

} // namespace gpuhost::ctl
