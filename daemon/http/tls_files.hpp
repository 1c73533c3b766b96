// SPDX-License-Identifier: Apache-2.0
// The PEM texts of a connection as files, for libcurl.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"
#include "daemon/http/client.hpp"

#include <memory>
#include <string>

namespace gpuhost::http {

inline constexpr const char* nobody_trusted = "no trusted certificate authority";

/// A PEM text as a file in memory, with a path for libcurl. Not all versions of libcurl accept all of these
/// texts as memory blocks.
class MemoryFile {
  public:
    MemoryFile() = default;
    [[nodiscard]] static base::Result<MemoryFile> make(const std::string& text);
    /// Returns null for an empty text.
    [[nodiscard]] const char* path() const { return path_.empty() ? nullptr : path_.c_str(); }

  private:
    base::UniqueFd fd_;
    std::string path_;
};

struct TlsFiles {
    MemoryFile authorities;
    MemoryFile certificate;
    MemoryFile key;

    /// Fails with InvalidArgument if `authorities` is empty.
    [[nodiscard]] static base::Result<std::shared_ptr<const TlsFiles>> make(const Tls& tls);
};

} // namespace gpuhost::http
