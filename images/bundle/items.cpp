// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/items.hpp"

#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/layout.hpp"
#include "images/bundle/oci.hpp"

#include <set>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr const char* artifact_document = "application/vnd.oci.image.manifest.v1+json";

/// A blob to visit, with the media type of the descriptor that named it.
struct Lead {
    std::string hex;
    std::string media_type;
};

/// Returns the file offset of each member's bytes.
std::map<std::string_view, std::uint64_t> positions_of(const SignedManifest& bundle) {
    std::map<std::string_view, std::uint64_t> positions;
    BundleLayout layout(bundle.der.size());
    for (const Member& member : bundle.manifest.members) {
        if (member.absent)
            continue;
        (void)layout.before(member);
        positions.emplace(member.hex, layout.position());
    }
    return positions;
}

} // namespace

BundleItems::BundleItems(const BundleManifest& manifest, ReadDocument read) : read_(std::move(read)) {
    for (const Member& member : manifest.members)
        if (member.is_blob())
            members_.emplace(member.hex, &member);
}

const Member* BundleItems::find(std::string_view hex) const {
    const auto found = members_.find(hex);
    return found == members_.end() ? nullptr : found->second;
}

Result<std::vector<const Member*>> BundleItems::walk(const std::string& hex,
                                                     const std::string& media_type) const {
    std::vector<const Member*> members;
    std::set<std::string> seen;
    std::vector<Lead> open{{hex, media_type}};
    while (!open.empty()) {
        const Lead next = std::move(open.back());
        open.pop_back();
        const Member* const member = find(next.hex);
        if (member == nullptr || !seen.insert(next.hex).second)
            // returned already, or not in the bundle: for another platform, or not to be redistributed
            continue;
        members.push_back(member);
        if (!is_document(next.media_type))
            continue;
        if (member->size > document_limit)
            return base::fail(Errc::BadContent, member->place() + ": document larger than 4 MiB");
        GPUHOST_TRY(text, read_(*member));
        if (content::sha256(text) != member->hex)
            return base::fail(Errc::BadContent, member->place() + ": digest mismatch",
                              "Copy the file again.");
        GPUHOST_TRY(document, parse_document(text, next.media_type, member->place()));
        for (Descriptor& child : document.content)
            open.push_back({std::move(child.hex), std::move(child.media_type)});
    }
    return members;
}

Result<std::vector<const Member*>> BundleItems::members_of(const BundleImage& image) const {
    return walk(image.hex, image.media_type);
}

Result<std::vector<const Member*>> BundleItems::members_of(const BundleArtifact& artifact) const {
    return walk(artifact.hex, artifact_document);
}

BundleItems::ReadDocument documents_of(const BundleReader& bundle) {
    return [&bundle,
            positions = positions_of(bundle.signed_manifest())](const Member& member) -> Result<std::string> {
        if (!bundle.input().seekable())
            return base::fail(Errc::Unsupported, "a pipe can be read only once");
        const auto position = positions.find(member.hex);
        if (position == positions.end())
            return base::fail(Errc::NotFound, member.place() + ": is not in this file");
        BundleInput input = bundle.input();
        GPUHOST_CHECK(input.skip(position->second - input.position()));
        return input.read(static_cast<std::size_t>(member.size));
    };
}

} // namespace gpuhost::images
