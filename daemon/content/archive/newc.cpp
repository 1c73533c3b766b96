// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/newc.hpp"

#include <algorithm>
#include <charconv>

#include <sys/stat.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t header_size = 110; // "070701" and 13 fields of 8 hexadecimal digits
constexpr std::size_t field_size = 8;
constexpr std::size_t longest_name = 4096; // PATH_MAX: the kernel ignores members with longer names
constexpr std::string_view last_name = "TRAILER!!!";
enum Field : std::size_t { Mode = 1, Size = 6, NameSize = 11 };

std::uint64_t aligned(std::uint64_t position) {
    return (position + 3) / 4 * 4;
}

bool number(std::string_view header, Field field, std::uint64_t& value) {
    const char* const begin = header.data() + 6 + field * field_size;
    const auto [end, error] = std::from_chars(begin, begin + field_size, value, 16);
    return error == std::errc() && end == begin + field_size;
}

} // namespace

tl::unexpected<base::Error> NewcNames::bad(std::string_view reason) const {
    return base::fail(Errc::BadContent, what_ + ": " + std::string(reason));
}

/// Appends the missing bytes of the current header or name to held_, as far as `bytes` has them. Returns how
/// many bytes it has taken.
std::size_t NewcNames::collect(std::string_view bytes) {
    const std::size_t taken = std::min(wanted_ - held_.size(), bytes.size());
    held_ += bytes.substr(0, taken);
    return taken;
}

Result<std::size_t> NewcNames::feed(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        std::size_t taken = 1;
        if (skip_ > 0) {
            taken = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size() - at));
            skip_ -= taken;
        } else if (state_ != State::Between) {
            taken = collect(bytes.substr(at));
        } else if (bytes[at] == '0' && position_ % 4 == 0) {
            state_ = State::Header;
            wanted_ = header_size;
            taken = collect(bytes.substr(at));
        } else if (bytes[at] != '\0') {
            return at;
        }
        at += taken;
        position_ += taken;
        if (state_ == State::Header && held_.size() == wanted_)
            GPUHOST_CHECK(header());
        else if (state_ == State::Name && held_.size() == wanted_)
            GPUHOST_CHECK(name());
    }
    return at;
}

Result<void> NewcNames::header() {
    const std::string_view magic = std::string_view(held_).substr(0, 6);
    if (magic != "070701" && magic != "070702")
        return bad("a member does not begin with a cpio header");
    std::uint64_t name_size = 0;
    if (!number(held_, Mode, mode_) || !number(held_, Size, content_) || !number(held_, NameSize, name_size))
        return bad("a member's header is not valid");
    if (name_size == 0 || name_size > longest_name)
        return bad("a member's name has " + std::to_string(name_size) + " bytes");
    if (room_-- == 0)
        return bad("has too many members");
    state_ = State::Name;
    wanted_ = static_cast<std::size_t>(name_size);
    held_.clear();
    return {};
}

/// Processes a complete name. Zeros, another archive, or other data may follow the last member.
Result<void> NewcNames::name() {
    if (held_.back() != '\0')
        return bad("a member's name is not terminated");
    const std::string path = held_.c_str(); // the kernel too uses the text before the first zero
    const std::uint64_t begin = aligned(position_);
    skip_ = aligned(begin + content_) - position_;
    held_.clear();
    wanted_ = header_size;
    state_ = path == last_name ? State::Between : State::Header;
    if (state_ == State::Header && (S_ISREG(mode_) || S_ISLNK(mode_)))
        on_file_(path);
    return {};
}

Result<void> NewcNames::finish() const {
    // An archive without its last member ("TRAILER!!!") is accepted. The padding of the last member is often
    // missing.
    if (state_ == State::Between || (state_ == State::Header && held_.empty() && skip_ == 0))
        return {};
    return bad("ends inside an archive");
}

} // namespace gpuhost::content
