// SPDX-License-Identifier: Apache-2.0
// Hostile images that are imported without harm. hostile_input_test.cpp has those that are refused.
#include "images/store/references.hpp"
#include "tests/unit/images/hostile_input.hpp"

#include <cstdlib>

#include <sys/stat.h>

namespace gpuhost::images {
namespace {

TEST_F(HostileInput, ModesIgnored_CVE_2021_32760_CVE_2025_45582) {
    const auto before = all_files();
    auto files = Layout().with_image();
    for (File& file : files)
        file.mode = 06777;
    files.insert(files.begin(), {{"way", "", Type::Link, "../../outside"},
                                 {"way/kept", "through the link", Type::File, "", 06777}});
    ASSERT_TRUE(adopt_tar(tests::tar_of(files)) && commit());
    for (const auto& [path, content] : all_files())
        if (const auto known = before.find(path); known != before.end()) {
            EXPECT_EQ(content, known->second) << path;
        } else {
            struct stat st {};
            ASSERT_EQ(::lstat(path.c_str(), &st), 0);
            EXPECT_TRUE(S_ISREG(st.st_mode)) << path;
            EXPECT_EQ(st.st_mode & 07133U, 0U) << path << " has a mode of the archive";
            EXPECT_EQ(path.find(directory_.path("host/var/lib/gpuhost/")), 0U) << path;
        }
    EXPECT_EQ(root_.list(blobs_directory)->size(), 3U);
}

TEST_F(HostileInput, NoProgramsAreRun_CVE_2026_41567) {
    for (const char* name :
         {"gzip", "gunzip", "unpigz", "xz", "zstd", "bzip2", "lz4", "lzop", "grzip", "lrzip"}) {
        directory_.write("bin/" + std::string(name),
                         "#!/bin/sh\n: > '" + directory_.path("outside/ran") + "'\n");
        fs::permissions(directory_.path("bin/" + std::string(name)), fs::perms::owner_all);
    }
    const char* const path = std::getenv("PATH");
    const std::string usual = path == nullptr ? "" : path;
    ASSERT_EQ(::setenv("PATH", directory_.path("bin").c_str(), 1), 0);
    for (const Packing packing : {Packing::Gzip, Packing::Xz, Packing::Zstd, Packing::Bzip2, Packing::Lz4})
        (void)adopt_tar(tests::tar_of(Layout().with_image(), packing));
    for (const std::string& magic :
         {std::string("\x89LZO\x00\x0d\x0a\x1a\x0a", 9), std::string("GRZipII\x00\x02\x04:)", 12),
          std::string("LRZI\x00\x06", 6)})
        EXPECT_FALSE(adopt_tar(magic + std::string(2000, 'x')));
    ::setenv("PATH", usual.c_str(), 1);
    EXPECT_FALSE(fs::exists(directory_.path("outside/ran")));
}

TEST_F(HostileInput, SignatureCannotBeBypassed_CVE_2026_111361) {
    tests::TestBundle bundle;
    const std::string hex = bundle.add("signed");
    const tests::Identity stranger = tests::make_identity({});
    EXPECT_EQ(receive(bundle, stranger).error().code, Errc::AccessDenied);
    EXPECT_FALSE(root_.exists(incoming_directory)) << "no byte is written before the verification";
    // A commit refuses what an import of the other kind received.
    ASSERT_TRUE(receive(bundle, site_));
    EXPECT_FALSE(commit());
    ASSERT_TRUE(adopt_tar(tests::tar_of(Layout().with_image())));
    EXPECT_FALSE(commit_bundle(root_, received_bundle(root_)->value(), trust_, host_));
    const std::string manifest = std::string(incoming_directory) + "/" +
                                 received_bundle(root_)->value().digest + "/" +
                                 std::string(unsigned_manifest);
    std::string text = root_.read(manifest).value();
    text.replace(text.find("r.io/app"), 8, "r.io/ape");
    ASSERT_TRUE(root_.write_atomic(manifest, text));
    EXPECT_EQ(commit().error().code, Errc::BadContent) << "the content was changed";
    EXPECT_TRUE(Catalogue(root_).names().value_or(std::vector<std::string>()).empty());
    EXPECT_FALSE(BlobStore(root_).has(hex, 6));
}

TEST_F(HostileInput, UnsignedCannotReplaceSignedNames_GO_2026_5338) {
    tests::TestBundle bundle;
    Layout layout;
    const std::string document = base::dump(layout.manifest("signed"));
    for (const std::string& content : {document, std::string("{}"), std::string("signed")})
        bundle.add(content);
    bundle.manifest.images = {{"r.io/app:v1", content::sha256(document), manifest_type, document.size(), {}}};
    ASSERT_TRUE(receive(bundle, site_));
    const auto received = received_bundle(root_);
    ASSERT_TRUE(commit_bundle(root_, received->value(), trust_, host_) &&
                finalize_import(root_, received->value().digest));
    EXPECT_EQ(adopt_tar(tests::tar_of(Layout().with_image()), "site-images").error().code, Errc::Refused);
    ASSERT_TRUE(adopt_tar(tests::tar_of(Layout().with_image())) && commit());
    const auto references = References::load(root_);
    ASSERT_TRUE(references);
    EXPECT_EQ(references->find(parse_reference("r.io/app:v1").value())->hex, content::sha256(document));
    EXPECT_EQ(references->claims(parse_reference("r.io/app:v1").value()).size(), 2U);
}

} // namespace
} // namespace gpuhost::images
