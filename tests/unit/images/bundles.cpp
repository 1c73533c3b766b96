// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/images/bundles.hpp"

#include "daemon/base/root.hpp"
#include "daemon/content/sha256.hpp"
#include "images/bundle_writer.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gpuhost::tests {

using base::Result;
using base::UniqueFd;

UniqueFd memory_file(std::string_view bytes) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
    EXPECT_TRUE(base::write_all(fd.get(), bytes, "memory"));
    return fd;
}

std::string TestBundle::add(const std::string& content, const std::string& path) {
    images::Member member;
    member.hex = content::sha256(content);
    member.size = content.size();
    member.path = path;
    manifest.members.push_back(member);
    contents[member.hex] = content;
    return member.hex;
}

Result<std::string> TestBundle::write(const Identity& signer) const {
    const auto key = content::SigningKey::from_pem(signer.key, signer.certificate, "");
    EXPECT_TRUE(key);
    const UniqueFd out = memory_file("");
    const auto open = [this](const images::Member& member) -> Result<images::MemberBytes> {
        return images::MemberBytes{memory_file("before" + contents.at(member.hex)), 6};
    };
    GPUHOST_CHECK(images::write_bundle(out.get(), manifest, *key, open));
    (void)::lseek(out.get(), 0, SEEK_SET);
    return base::read_all(out.get(), 1U << 30U, "bundle");
}

std::map<std::string, std::string> TestBundle::expected() const {
    std::map<std::string, std::string> members;
    for (const images::Member& member : manifest.members)
        members[member.place()] = contents.at(member.hex);
    return members;
}

} // namespace gpuhost::tests
