// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/packed_files.hpp"

#include "daemon/content/package/package.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t most_files = 20'000; // the source of 550.163.01 has 1,100 files
constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30U;

Result<base::UniqueFd> unnamed_file() {
    const char* const told = std::getenv("TMPDIR");
    const std::string directory = told != nullptr && *told == '/' ? told : "/var/tmp";
    base::UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!fd)
        return base::fail_errno("a temporary file in '" + directory + "'", errno);
    return fd;
}

} // namespace

Result<PackedFiles> PackedFiles::create(std::string name) {
    GPUHOST_TRY(fd, unnamed_file());
    GPUHOST_TRY(tar, content::TarWriter::create(fd.get(), name));
    return PackedFiles(std::move(name), std::move(fd), std::move(tar));
}

Result<void> PackedFiles::add_file(const base::Root& root, const std::string& path,
                                   const std::string& name_in_tar) {
    const std::string what = "'" + root.host_path(path) + "'";
    GPUHOST_TRY(fd, root.open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat st {};
    if (::fstat(fd.get(), &st) < 0)
        return base::fail_errno(what, errno);
    if (!S_ISREG(st.st_mode))
        return base::fail(Errc::BadContent, what + " is not a file, directory or link");
    const auto size = static_cast<std::uint64_t>(st.st_size);
    GPUHOST_CHECK(count(size));
    GPUHOST_CHECK(tar_.begin(name_in_tar, (st.st_mode & 0111U) != 0, size));
    return copy(fd.get(), size, what);
}

Result<void> PackedFiles::add_link(const std::string& name_in_tar, const std::string& target) {
    GPUHOST_CHECK(count(0));
    return tar_.add_link(name_in_tar, target);
}

Result<void> PackedFiles::add_text(const std::string& name_in_tar, const std::string& text) {
    GPUHOST_CHECK(count(text.size()));
    GPUHOST_CHECK(tar_.begin(name_in_tar, false, text.size()));
    return tar_.write(text);
}

Result<client::InputFile> PackedFiles::finish() {
    GPUHOST_CHECK(tar_.finish());
    return client::InputFile{name_ + std::string(content::source_suffix), std::move(fd_)};
}

Result<void> PackedFiles::count(std::uint64_t bytes) {
    bytes_ += bytes;
    if (++files_ > most_files)
        return base::fail(Errc::BadContent, name_ + ": more than " + std::to_string(most_files) + " files");
    if (bytes_ > most_bytes)
        return base::fail(Errc::BadContent,
                          name_ + ": more than " + std::to_string(most_bytes >> 20U) + " MiB");
    return {};
}

Result<void> PackedFiles::copy(int fd, std::uint64_t size, const std::string& what) {
    while (size != 0) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), size));
        const ssize_t n = ::read(fd, buffer_.data(), most);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return base::fail_errno(what, errno);
        if (n == 0)
            return base::fail(Errc::BadContent, what + " was truncated while it was read");
        GPUHOST_CHECK(tar_.write({buffer_.data(), static_cast<std::size_t>(n)}));
        size -= static_cast<std::uint64_t>(n);
    }
    return {};
}

} // namespace gpuhost::ctl
