// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/output_file.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Result;

Result<OutputFile> OutputFile::create(const std::string& path) {
    OutputFile file;
    file.path_ = path;
    file.made_ = path + ".part";
    file.fd_.reset(::open(file.made_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.fd_)
        return base::fail_errno("'" + file.made_ + "'", errno);
    return file;
}

OutputFile::~OutputFile() {
    if (fd_)
        (void)::unlink(made_.c_str());
}

Result<void> OutputFile::finish() {
    if (::fsync(fd_.get()) < 0 || ::rename(made_.c_str(), path_.c_str()) < 0)
        return base::fail_errno("'" + path_ + "'", errno);
    fd_.reset();
    return {};
}

} // namespace gpuhost::ctl
