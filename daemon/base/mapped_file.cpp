// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/mapped_file.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

namespace gpuhost::base {

Result<MappedFile> MappedFile::open(int fd, std::string_view what) {
    struct stat st {};
    if (::fstat(fd, &st) < 0)
        return fail_errno(what, errno);
    if (!S_ISREG(st.st_mode) || st.st_size > off_t{1} << 30)
        return fail(Errc::BadContent, std::string(what) + ": not a regular file, or larger than 1 GiB");
    const auto size = static_cast<std::size_t>(st.st_size);
    if (size == 0)
        return MappedFile(nullptr, 0);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return fail_errno(what, errno);
    return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr)
        (void)::munmap(const_cast<char*>(data_), size_);
}

} // namespace gpuhost::base
