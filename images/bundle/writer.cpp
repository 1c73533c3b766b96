// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/writer.hpp"

#include "daemon/base/page_buffer.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/layout.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

Result<void> copy_member(BundleOutput& out, const Member& member, const MemberBytes& in,
                         const std::function<void(std::uint64_t)>& on_bytes) {
    const auto wrong = [&] {
        return base::fail(Errc::BadContent, member.place() + ": content does not match the manifest",
                          "Make the bundle again: the content changed meanwhile, or is damaged.");
    };
    content::Sha256 hash;
    const base::PageBuffer buffer(std::size_t{1} << 20U);
    for (std::uint64_t done = 0; done < member.size;) {
        const auto most =
            static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), member.size - done));
        GPUHOST_TRY(n, in(buffer.span().first(most)));
        if (n == 0)
            return wrong();
        const std::string_view bytes(buffer.data(), n);
        done += bytes.size();
        hash.update(bytes);
        GPUHOST_CHECK(out.write(bytes));
        if (on_bytes)
            on_bytes(bytes.size());
    }
    return hash.finish() == member.hex ? Result<void>() : wrong();
}

std::uint64_t size_of(const BundleManifest& manifest, std::uint64_t manifest_bytes) {
    BundleLayout layout(manifest_bytes);
    for (const Member& member : manifest.members)
        if (!member.absent)
            (void)layout.before(member);
    (void)layout.end();
    return layout.position();
}

} // namespace

MemberBytes bytes_of(base::UniqueFd fd, std::uint64_t offset, std::string place) {
    const auto file = std::make_shared<base::UniqueFd>(std::move(fd)); // std::function must be copyable
    return [file, offset, place = std::move(place)](std::span<char> buffer) mutable -> Result<std::size_t> {
        for (;;) {
            const ssize_t n = ::pread(file->get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return base::fail_errno(place, errno);
            offset += static_cast<std::uint64_t>(n);
            return static_cast<std::size_t>(n);
        }
    };
}

Result<void> write_bundle(BundleOutput& out, const BundleManifest& manifest, const content::SigningKey& key,
                          const OpenMember& open, const std::function<void(std::uint64_t)>& on_bytes) {
    const std::string text = to_text(manifest);
    GPUHOST_CHECK(parse_bundle_manifest(text, "the bundle")); // fails now if hosts would refuse the manifest
    GPUHOST_TRY(der, key.sign(text, manifest.created));
    if (der.size() > manifest_limit)
        return base::fail(Errc::InvalidArgument, "too many members for one bundle", "Make two bundles.");
    GPUHOST_CHECK(out.begin(size_of(manifest, der.size())));
    GPUHOST_CHECK(out.write(manifest_header(der.size()) + der));
    BundleLayout layout(der.size());
    for (const Member& member : manifest.members) {
        if (member.absent)
            continue;
        GPUHOST_CHECK(out.write(layout.before(member)));
        GPUHOST_TRY(in, open(member));
        GPUHOST_CHECK(copy_member(out, member, in, on_bytes));
    }
    return out.write(layout.end());
}

} // namespace gpuhost::images
