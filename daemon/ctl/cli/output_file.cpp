// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/output_file.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/random.h>
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

Result<OutputFile> OutputFile::create(const std::string& path, mode_t mode, Existing existing) {
    OutputFile file;
    file.path_ = path;
    file.mode_ = mode;
    file.existing_ = existing;
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

std::string OutputFile::self() const {
    return "/proc/self/fd/" + std::to_string(fd_.get());
}

/// Gives the unnamed file a random name. link(2) can't replace an existing file, but rename(2) of the random
/// name can.
Result<void> OutputFile::give_temporary_name() {
    for (unsigned i = 0; i < most_attempts; ++i) {
        std::uint64_t number = 0;
        (void)!::getrandom(&number, sizeof number, 0); // can't fail for 8 bytes
        const std::string name = path_ + ".part" + std::to_string(number);
        if (::linkat(AT_FDCWD, self().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
            temporary_ = name;
            return {};
        }
        if (errno != EEXIST)
            break;
    }
    return base::fail_errno("'" + path_ + "'", errno);
}

Result<void> OutputFile::replace() {
    if (temporary_.empty())
        GPUHOST_CHECK(give_temporary_name());
    if (::rename(temporary_.c_str(), path_.c_str()) < 0)
        return base::fail_errno("'" + path_ + "'", errno);
    temporary_.clear();
    return {};
}

/// Gives the file its name, if the name is free. Tries link(2) and RENAME_NOREPLACE: NFS supports only
/// link(2), and FAT only RENAME_NOREPLACE.
Result<void> OutputFile::create_unique() {
    if (!temporary_.empty() &&
        ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
        temporary_.clear();
        return {};
    }
    if (!temporary_.empty() && errno != EINVAL)
        return base::fail_errno("'" + path_ + "'", errno);
    // Does not follow a symbolic link: in another user's directory, the temporary name may have become one.
    const bool is_named = !temporary_.empty();
    const std::string from = is_named ? temporary_ : self();
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path_.c_str(), is_named ? 0 : AT_SYMLINK_FOLLOW) < 0)
        return base::fail_errno("'" + path_ + "'", errno);
    return {}; // the destructor removes the temporary name
}

Result<void> OutputFile::finish() {
    if (::fsync(fd_.get()) < 0)
        return base::fail_errno("'" + path_ + "'", errno);
    if (!temporary_.empty() && ::fchmod(fd_.get(), mode_) < 0) // mkostemp(3) uses mode 0600
        return base::fail_errno("'" + path_ + "'", errno);
    return existing_ == Existing::Keep ? create_unique() : replace();
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
