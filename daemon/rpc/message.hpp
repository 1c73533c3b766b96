// SPDX-License-Identifier: Apache-2.0
// gRPC's framing of messages: one byte "compressed", the length as 4 bytes in network order, the message.
#pragma once

#include "daemon/rpc/status.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::rpc {

inline constexpr std::size_t message_prefix_size = 5;

/// Returns the message with its prefix. It must be smaller than 4 GiB.
[[nodiscard]] std::string framed(std::string_view message);

/// Collects the only message of a direction of a call, from parts of any size.
class MessageReader {
  public:
    explicit MessageReader(std::size_t limit) : limit_(limit) {}

    /// Adds bytes. Fails for a compressed message, for one larger than the limit, and for a second one. The
    /// memory grows with the bytes received, not with the length in the prefix.
    [[nodiscard]] Status add(std::string_view bytes);
    [[nodiscard]] bool complete() const;
    /// Returns the message without its prefix; only if complete().
    [[nodiscard]] std::string_view message() const;
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    /// Frees the memory.
    void clear() { std::string().swap(bytes_); }

  private:
    [[nodiscard]] std::size_t length() const;
    std::size_t limit_;
    std::string bytes_;
};

} // namespace gpuhost::rpc
