// SPDX-License-Identifier: Apache-2.0
#include "images/import/blob_stream.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <cstdio>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t digest_digits = 64;
constexpr std::size_t first_digits = 16;
constexpr std::size_t frame_bytes = digest_digits + 1 + first_digits + 1;
const std::string nothing(digest_digits, '0'); ///< instead of a digest: marks the last frame

} // namespace

std::string blob_frame(std::string_view hex, std::uint64_t first) {
    char digits[first_digits + 1];
    (void)std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(first));
    return std::string(hex) + " " + digits + "\n";
}

std::string last_blob_frame() {
    return blob_frame(nothing, 0);
}

BlobStream::BlobStream(BundleInput& input, const std::vector<const Member*>& wanted) : input_(input) {
    for (const Member* member : wanted)
        wanted_.emplace(member->hex, member);
}

Result<BlobStream::Blob> BlobStream::next() {
    const auto damaged = [&](std::string_view why) {
        return base::fail(Errc::BadContent, input_.name() + ": " + std::string(why));
    };
    if (left_ != 0)
        return damaged("a blob was not read to its end");
    GPUHOST_TRY(frame, input_.read(frame_bytes));
    const std::string_view hex = std::string_view(frame).substr(0, digest_digits);
    const auto first = base::parse_uint(std::string_view(frame).substr(digest_digits + 1, first_digits), 16);
    if (!first || frame != blob_frame(hex, *first))
        return damaged("invalid blob frame");
    if (hex == nothing)
        return end();
    const auto found = wanted_.find(hex);
    if (found == wanted_.end())
        return damaged("unexpected blob: this host has it, or does not need it");
    if (*first > found->second->size)
        return damaged("a blob begins after its end");
    left_ = found->second->size - *first;
    return Blob{found->second, *first};
}

Result<BlobStream::Blob> BlobStream::end() {
    if (!wanted_.empty())
        return base::fail(Errc::BadContent,
                          input_.name() + ": " + std::to_string(wanted_.size()) +
                              " blobs are missing: sha256:" + wanted_.begin()->first +
                              (wanted_.size() > 1 ? ", …" : ""),
                          "Fetch the bundle again, or import it from its file.");
    GPUHOST_TRY(ended, input_.at_end());
    if (!ended)
        return base::fail(Errc::BadContent, input_.name() + ": has data after its end");
    return Blob();
}

Result<void> BlobStream::read(std::span<char> buffer) {
    GPUHOST_CHECK(input_.read(buffer));
    left_ -= buffer.size();
    return {};
}

Result<void> BlobStream::skip(std::uint64_t bytes) {
    GPUHOST_CHECK(input_.skip(bytes));
    left_ -= bytes;
    return {};
}

} // namespace gpuhost::images
