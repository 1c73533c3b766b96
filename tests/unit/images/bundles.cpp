// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/images/bundles.hpp"

#include "daemon/base/root.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/writer.hpp"

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

namespace {

struct MemoryOutput : images::BundleOutput {
    Result<void> begin(std::uint64_t size) override {
        expected = size;
        return {};
    }
    Result<void> write(std::string_view more) override {
        bytes += more;
        return {};
    }
    std::uint64_t expected = 0;
    std::string bytes;
};

} // namespace

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
    const auto open = [this](const images::Member& member) -> Result<images::MemberBytes> {
        return images::bytes_of(memory_file("before" + contents.at(member.hex)), 6, member.place());
    };
    MemoryOutput out;
    GPUHOST_CHECK(images::write_bundle(out, manifest, *key, open));
    EXPECT_EQ(out.bytes.size(), out.expected);
    return std::move(out.bytes);
}

std::map<std::string, std::string> TestBundle::expected() const {
    std::map<std::string, std::string> members;
    for (const images::Member& member : manifest.members)
        members[member.place()] = contents.at(member.hex);
    return members;
}

} // namespace gpuhost::tests
