// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/reader.hpp"

namespace gpuhost::images {

using base::Errc;
using base::Result;

Result<SignedManifest> read_signed_manifest(BundleInput& input, const content::TrustAnchors& trust) {
    const std::string name = input.name();
    const auto no_bundle = [&] {
        return base::fail(
            Errc::BadContent, name + ": is not a bundle",
            "Make a bundle with 'gpuhostctl bundle create', or import unsigned images with --unsigned where "
            "AllowUnsigned= in section [Images] of gpuhostd.conf(5) allows it.");
    };
    const auto block = input.read(tar_block);
    if (!block)
        return block.error().code == Errc::BadContent ? no_bundle() : base::fail(block.error());
    const auto size = manifest_size(*block);
    if (!size)
        return no_bundle();
    if (*size > manifest_limit)
        return base::fail(Errc::BadContent, name + ": its manifest is larger than " +
                                                std::to_string(manifest_limit >> 20U) + " MiB");
    GPUHOST_TRY(der, input.read(static_cast<std::size_t>(*size)));
    return verify_manifest(std::move(der), trust, name);
}

Result<BundleReader> BundleReader::open(BundleInput input, const content::TrustAnchors& trust) {
    GPUHOST_TRY(bundle, read_signed_manifest(input, trust));
    return BundleReader(std::move(input), std::move(bundle));
}

Result<void> BundleReader::expect(const std::string& bytes) {
    const std::uint64_t at = input_.position();
    GPUHOST_TRY(found, input_.read(bytes.size()));
    if (found == bytes)
        return {};
    return base::fail(Errc::BadContent,
                      input_.name() + ": content at byte " + std::to_string(at) +
                          " does not match its manifest",
                      "Copy the file again: it is damaged or was altered.");
}

Result<const Member*> BundleReader::next() {
    if (end_ > input_.position())
        GPUHOST_CHECK(input_.skip(end_ - input_.position()));
    const auto& members = manifest().members;
    while (member_ < members.size() && members[member_].absent)
        ++member_;
    if (member_ < members.size()) {
        const Member& member = members[member_++];
        GPUHOST_CHECK(expect(layout_.before(member)));
        end_ = input_.position() + member.size;
        return &member;
    }
    GPUHOST_CHECK(expect(layout_.end()));
    GPUHOST_TRY(ended, input_.at_end());
    if (!ended)
        return base::fail(Errc::BadContent, input_.name() + ": has data after its end");
    return nullptr;
}

} // namespace gpuhost::images
