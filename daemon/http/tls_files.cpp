// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/tls_files.hpp"

#include <cerrno>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace gpuhost::http {

using base::Errc;
using base::Result;
using base::UniqueFd;

Result<MemoryFile> MemoryFile::make(const std::string& text) {
    MemoryFile made;
    if (text.empty())
        return made;
    made.fd_ = UniqueFd(::memfd_create("pem", MFD_CLOEXEC));
    if (!made.fd_)
        return base::fail_errno("creating a file in memory", errno);
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = ::write(made.fd_.get(), text.data() + done, text.size() - done);
        if (n < 0)
            return base::fail_errno("creating a file in memory", errno);
        done += static_cast<std::size_t>(n);
    }
    made.path_ = "/proc/self/fd/" + std::to_string(made.fd_.get());
    return made;
}

Result<std::shared_ptr<const TlsFiles>> TlsFiles::make(const Tls& tls) {
    if (tls.authorities.empty())
        return base::fail(Errc::InvalidArgument, nobody_trusted);
    auto files = std::make_shared<TlsFiles>();
    GPUHOST_TRY(authorities, MemoryFile::make(tls.authorities));
    GPUHOST_TRY(certificate, MemoryFile::make(tls.certificate));
    GPUHOST_TRY(key, MemoryFile::make(tls.key));
    files->authorities = std::move(authorities);
    files->certificate = std::move(certificate);
    files->key = std::move(key);
    return std::shared_ptr<const TlsFiles>(std::move(files));
}

} // namespace gpuhost::http
