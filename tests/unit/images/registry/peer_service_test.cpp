// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/sha256.hpp"
#include "images/registry/peer_service.hpp"
#include "images/store/catalogue.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

class PeerServiceTest : public ::testing::Test {
  protected:
    /// Adds a bundle with one blob.
    void put(const std::string& bundle, const std::string& content, bool is_signed) {
        const std::string hex = content::sha256(content);
        directory_.write("var/lib/gpuhost/store/sha256/" + hex, content);
        CatalogueEntry entry;
        entry.record.name = bundle;
        entry.record.manifest = hex;
        entry.record.signer.sha256 = is_signed ? "x" : "";
        entry.blobs = {{hex, content.size()}};
        entry.signed_manifest = "manifest of " + bundle;
        const Catalogue catalogue(root_);
        ASSERT_TRUE(catalogue.put(entry));
        ASSERT_TRUE(catalogue.finalize());
    }
    RegistryAnswer ask(const std::string& target, std::string_view method = "GET") {
        return service_.answer({method, target, {}, {}, {}});
    }
    RegistryAnswer blob(const std::string& content) {
        return ask(std::string(peer_blobs_path) + "/" + content::sha256(content));
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    PeerService service_{root_};
};

TEST_F(PeerServiceTest, SignedBundlesAreServed) {
    put("site", "signed", true);
    EXPECT_NE(ask(std::string(peer_bundles_path)).text.find("\"site\""), std::string::npos);
    const RegistryAnswer manifest = ask(std::string(peer_bundles_path) + "/site");
    EXPECT_EQ(manifest.status, 200U);
    EXPECT_EQ(manifest.length(), std::string("manifest of site").size());
    EXPECT_TRUE(manifest.file) << "sent from a file: many clients may read a large one slowly";
    EXPECT_EQ(blob("signed").status, 200U);
    EXPECT_EQ(ask(std::string(peer_bundles_path), "PUT").status, 405U);
}

TEST_F(PeerServiceTest, UnsignedBundlesAreNotServed) {
    put("site", "signed", true);
    put("airgap", "of nobody", false);
    EXPECT_EQ(ask(std::string(peer_bundles_path)).text.find("airgap"), std::string::npos);
    EXPECT_EQ(ask(std::string(peer_bundles_path) + "/airgap").status, 404U);
    EXPECT_EQ(blob("of nobody").status, 404U);
    directory_.write("var/lib/gpuhost/store/sha256/" + content::sha256("owned by none"), "owned by none");
    EXPECT_EQ(blob("owned by none").status, 404U);
    put("later", "of nobody", true);
    EXPECT_EQ(blob("of nobody").status, 200U) << "a later bundle is found";
}

} // namespace
} // namespace gpuhost::images
