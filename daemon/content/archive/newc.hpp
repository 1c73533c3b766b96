// SPDX-License-Identifier: Apache-2.0
// Reads the names of the members of consecutive cpio archives in the format "newc", as the kernel unpacks
// them (init/initramfs.c). The bytes may arrive in portions of any size.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuhost::content {

class NewcNames {
  public:
    using OnFile = std::function<void(const std::string& path)>;
    /// `on_file` is called for each regular file and symbolic link. `what` is for messages.
    NewcNames(std::string what, std::uint64_t members, OnFile on_file)
        : what_(std::move(what)), room_(members), on_file_(std::move(on_file)) {}

    /// Processes the next bytes, and returns how many of them it has consumed. The others, if any, are not
    /// part of a newc archive: compressed data, for example.
    [[nodiscard]] base::Result<std::size_t> feed(std::string_view bytes);
    /// Fails with BadContent if an archive is truncated.
    [[nodiscard]] base::Result<void> finish() const;

  private:
    enum class State { Between, Header, Name };
    [[nodiscard]] std::size_t collect(std::string_view bytes);
    [[nodiscard]] base::Result<void> header();
    [[nodiscard]] base::Result<void> name();
    [[nodiscard]] tl::unexpected<base::Error> bad(std::string_view reason) const;

    std::string what_;
    std::uint64_t room_; ///< number of members that may still follow
    OnFile on_file_;
    State state_ = State::Between;
    std::string held_;           ///< bytes of the current header or name so far
    std::size_t wanted_ = 0;     ///< size of that header or name
    std::uint64_t skip_ = 0;     ///< bytes of content and padding to skip next
    std::uint64_t position_ = 0; ///< number of bytes consumed
    std::uint64_t content_ = 0;  ///< size of the content of the member whose name is read next
    std::uint64_t mode_ = 0;
};

} // namespace gpuhost::content
