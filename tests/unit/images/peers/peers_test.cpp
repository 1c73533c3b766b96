// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "images/peers/peers.hpp"
#include "images/registry/peer_service.hpp"
#include "images/store/blob_store.hpp"
#include "images/store/generations.hpp"
#include "tests/support/fake_peer_client.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/bundles.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Result;
using base::UniqueFd;

/// Returns the smallest bundle of a site.
tests::TestBundle bundle_of(const std::string& name, std::uint64_t generation) {
    tests::TestBundle bundle;
    bundle.manifest.name = name;
    bundle.manifest.generation = generation;
    bundle.add("of " + name + " " + std::to_string(generation));
    return bundle;
}

tests::Identity named(const std::string& name) {
    tests::CertificateRequest request;
    request.name = name;
    return tests::make_identity(request);
}

std::string sign(const BundleManifest& manifest, const tests::Identity& signer) {
    const auto key = content::SigningKey::from_pem(signer.key, signer.certificate, "");
    return key->sign(to_text(manifest), manifest.created).value();
}

/// A host, and peers with their lists and manifests. Peers are named as hosts: "one".
class PeersTest : public ::testing::Test {
  protected:
    PeersTest() {
        EXPECT_TRUE(trust_.add(site_.certificate, "site"));
        tests::network.answer = [this](const PeerRequest& request) { return answer(request); };
    }
    ~PeersTest() override { tests::network = {}; }

    /// Makes `peer` list the bundle and return this manifest, which may be another one.
    void offer(const std::string& peer, const std::string& name, std::uint64_t generation, std::string der) {
        has_[peer][name] = {generation, std::move(der)};
    }
    void offer(const std::string& peer, const std::string& name, std::uint64_t generation) {
        offer(peer, name, generation, sign(bundle_of(name, generation).manifest, site_));
    }
    /// Imports the bundle with all its blobs.
    void import(const tests::TestBundle& bundle) {
        const UniqueFd fd = tests::memory_file(bundle.write(site_).value());
        auto reader = BundleReader::open(BundleInput::open({{fd.get(), "site.bundle"}}).value(), trust_);
        ASSERT_TRUE(reader) << reader.error().message;
        ASSERT_TRUE(receive_bundle(root_, *reader, host_));
        const auto received = received_bundle(root_).value().value();
        ASSERT_TRUE(commit_bundle(root_, received, trust_, host_));
        ASSERT_TRUE(finalize_import(root_, received.digest));
    }
    Peers look(const std::vector<std::string>& names) {
        Peers peers(root_, client_, names, [this](const std::string& text) { notes_ += text + "\n"; });
        peers.look();
        return peers;
    }
    Result<std::optional<SignedManifest>> choose(Peers& peers, const std::string& name) {
        return peers.choose(name, trust_, host_);
    }
    /// Returns the chosen generation of "site", or 0 if the local one is complete.
    std::uint64_t generation(Peers& peers) {
        const auto chosen = choose(peers, "site");
        EXPECT_TRUE(chosen) << chosen.error().message;
        return chosen && *chosen ? (*chosen)->manifest.generation : 0;
    }
    [[nodiscard]] bool noted(const std::string& text) const { return notes_.find(text) != std::string::npos; }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    tests::Identity site_ = tests::make_identity({});
    content::TrustAnchors trust_;
    HostFacts host_{"linux/amd64", {}};
    PeerClient client_ = PeerClient::make({}, {}).value();
    std::vector<std::string> asked_; ///< requests for manifests: "one site"
    std::string notes_;

  private:
    struct Shown {
        std::uint64_t generation = 0;
        std::string der;
    };
    PeerAnswer answer(const PeerRequest& request) {
        const std::string_view url(request.url);
        const auto port = url.find(':', url.find("//"));
        const std::string peer(url.substr(url.find("//") + 2, port - url.find("//") - 2));
        const std::string path(url.substr(url.find('/', port)));
        const auto known = has_.find(peer);
        if (known == has_.end())
            return {0, 0, {}, "did not answer"};
        if (path != peer_bundles_path) {
            const std::string name = path.substr(peer_bundles_path.size() + 1);
            asked_.push_back(peer + " " + name);
            return {0, 200, known->second.at(name).der, {}};
        }
        base::Json list = base::Json::array();
        for (const auto& [name, shown] : known->second)
            list.push_back({{"name", name}, {"generation", shown.generation}});
        return {0, 200, base::dump({{"bundles", std::move(list)}}), {}};
    }
    std::map<std::string, std::map<std::string, Shown>> has_;
};

using Asked = std::vector<std::string>;

TEST_F(PeersTest, InvalidAndDuplicatePeersAreDropped) {
    const Peers peers(root_, client_, {"one", "no host", "ONE", "two:70000", "two"},
                      [this](const std::string& text) { notes_ += text; });
    EXPECT_EQ(peers.names(), (Asked{"one", "two"}));
    EXPECT_EQ(notes_, "'no host' is not HOST or HOST:PORT'two:70000' is not HOST or HOST:PORT");
}

TEST_F(PeersTest, SilentPeerIsDropped) {
    offer("two", "site", 7);
    Peers peers = look({"one", "two"});
    EXPECT_EQ(peers.names(), Asked{"two"});
    EXPECT_EQ(notes_, "one: did not answer\n");
    EXPECT_EQ(generation(peers), 7U);
    EXPECT_EQ(asked_, Asked{"two site"});
    const PeerRequest request = peers.request_of({0, 0, "abc", 4, 8});
    EXPECT_EQ(request.url.rfind("https://two:", 0), 0U) << request.url;
    EXPECT_EQ(request.url.substr(request.url.find('/', 8)), std::string(peer_blobs_path) + "/abc");
    EXPECT_EQ(request.first, 4U);
    EXPECT_EQ(request.length, 8U);
}

TEST_F(PeersTest, LocalBundlesAreListedToo) {
    offer("one", "other", 1);
    import(bundle_of("site", 7));
    EXPECT_EQ(look({"one"}).bundles(), (Asked{"site", "other"}));
}

TEST_F(PeersTest, NewestGenerationIsChosen) {
    offer("one", "site", 7);
    offer("two", "site", 9);
    offer("three", "site", 8);
    Peers peers = look({"one", "two", "three"});
    EXPECT_EQ(generation(peers), 9U);
    EXPECT_EQ(asked_, Asked{"two site"});
}

TEST_F(PeersTest, MissingBundleIsNotFound) {
    offer("one", "site", 7);
    Peers peers = look({"one"});
    const auto chosen = choose(peers, "other");
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, Errc::NotFound);
    EXPECT_NE(chosen.error().message.find("'other'"), std::string::npos) << chosen.error().message;
}

TEST_F(PeersTest, CompleteLocalBundleIsNotRequested) {
    import(bundle_of("site", 8));
    offer("one", "site", 8);
    offer("two", "site", 7);
    Peers peers = look({"one", "two"});
    EXPECT_EQ(generation(peers), 0U);
    EXPECT_EQ(asked_, Asked());
}

TEST_F(PeersTest, LocalBundleWithAMissingBlobIsChosen) {
    const tests::TestBundle bundle = bundle_of("site", 8);
    import(bundle);
    ASSERT_TRUE(BlobStore(root_).remove(bundle.manifest.members[0].hex));
    Peers peers = look({"one"});
    EXPECT_EQ(generation(peers), 8U);
    EXPECT_EQ(asked_, Asked());
}

TEST_F(PeersTest, NewerGenerationThanTheLocalIsChosen) {
    import(bundle_of("site", 7));
    offer("one", "site", 8);
    Peers peers = look({"one"});
    EXPECT_EQ(generation(peers), 8U);
}

TEST_F(PeersTest, OlderGenerationThanTheRemovedIsNotRequested) {
    ASSERT_TRUE(root_.make_directories(catalogue_directory));
    ASSERT_TRUE(remember_generation(root_, "site", 8));
    offer("one", "site", 7);
    Peers peers = look({"one"});
    const auto chosen = choose(peers, "site");
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, Errc::NotFound);
    EXPECT_NE(chosen.error().message.find("of generation 8 or newer"), std::string::npos)
        << chosen.error().message;
    EXPECT_EQ(asked_, Asked());
    offer("one", "site", 8);
    Peers later = look({"one"});
    EXPECT_EQ(generation(later), 8U);
}

/// The signer is no longer trusted, so the local bundle is not used. Its generation is fixed to its content.
TEST_F(PeersTest, FormerSignersBundleNeedsANewerGeneration) {
    import(bundle_of("site", 8));
    site_ = named("Next year's key");
    trust_ = {};
    ASSERT_TRUE(trust_.add(site_.certificate, "next year's"));
    tests::TestBundle other = bundle_of("site", 8);
    other.add("more");
    offer("one", "site", 8, sign(other.manifest, site_));
    Peers peers = look({"one"});
    const auto chosen = choose(peers, "site");
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, Errc::Refused) << chosen.error().message;
    offer("one", "site", 9);
    Peers later = look({"one"});
    EXPECT_EQ(generation(later), 9U);
}

TEST_F(PeersTest, UnknownSignerFallsBackToTheNextPeer) {
    offer("one", "site", 9, sign(bundle_of("site", 9).manifest, named("A stranger")));
    offer("two", "site", 8);
    Peers peers = look({"one", "two"});
    EXPECT_EQ(generation(peers), 8U);
    EXPECT_EQ(asked_, (Asked{"one site", "two site"}));
    EXPECT_TRUE(noted("one: bundle 'site'")) << notes_;
}

TEST_F(PeersTest, PeerWithAMismatchingManifestIsDropped) {
    offer("one", "site", 9, sign(bundle_of("site", 7).manifest, site_));
    offer("one", "other", 3);
    offer("two", "site", 9, sign(bundle_of("other", 9).manifest, site_));
    offer("three", "site", 8);
    Peers peers = look({"one", "two", "three"});
    EXPECT_EQ(generation(peers), 8U);
    EXPECT_TRUE(noted("one: manifest does not match the offer: bundle 'site', generation 7")) << notes_;
    EXPECT_TRUE(noted("two: manifest does not match the offer: bundle 'other', generation 9")) << notes_;
    const auto chosen = choose(peers, "other");
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, Errc::NotFound);
    EXPECT_EQ(asked_, (Asked{"one site", "two site", "three site"}));
}

/// Bundles of another site are legitimate, but each is read and verified, which needs time.
TEST_F(PeersTest, UnknownSignerIsRequestedTenTimesPerPeer) {
    const tests::Identity stranger = named("A stranger");
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) {
        names.push_back("b" + std::to_string(i));
        offer("one", names.back(), 1, sign(bundle_of(names.back(), 1).manifest, stranger));
    }
    offer("two", "site", 8);
    Peers peers = look({"one", "two"});
    std::vector<Errc> codes;
    for (const std::string& name : names)
        codes.push_back(choose(peers, name).error().code);
    std::vector<Errc> expected(10, Errc::AccessDenied);
    expected.resize(12, Errc::NotFound);
    EXPECT_EQ(codes, expected);
    EXPECT_EQ(asked_.size(), 10U);
    EXPECT_EQ(generation(peers), 8U) << "bundles of the other peer are not affected";
}

TEST_F(PeersTest, FullDiskDoesNotChooseAnOlderGeneration) {
    tests::TestBundle large = bundle_of("site", 9);
    large.manifest.members[0].size = std::uint64_t{1} << 50U;
    offer("one", "site", 9, sign(large.manifest, site_));
    offer("two", "site", 8);
    Peers peers = look({"one", "two"});
    const auto chosen = choose(peers, "site");
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, Errc::NoSpace) << chosen.error().message;
    EXPECT_EQ(asked_, Asked{"one site"});
}

/// Blobs that are requested for a chosen bundle.
class WantedBlobs : public ::testing::Test {
  protected:
    WantedBlobs() {
        for (const char* content : {"the first blob", "the second one", "the last of the three"})
            bundle_.add(content);
        manifest_.manifest = bundle_.manifest;
        manifest_.digest = identity(bundle_.manifest);
    }
    [[nodiscard]] std::string hex(std::size_t i) const { return bundle_.manifest.members[i].hex; }
    [[nodiscard]] std::string content(std::size_t i) const { return bundle_.contents.at(hex(i)); }
    /// Writes a partial blob, as an interrupted import leaves it.
    void leave(std::size_t i, const std::string& bytes) const {
        directory_.write(received_path(manifest_.digest, hex(i)).substr(1), bytes);
    }
    [[nodiscard]] std::vector<BlobFetch::Wanted> wanted() const {
        return wanted_blobs(root_, manifest_, {"linux/amd64", {}});
    }
    /// Returns the first missing byte. The hash must cover all bytes before it.
    [[nodiscard]] std::uint64_t first(std::size_t i) const {
        auto all = wanted();
        BlobFetch::Wanted& blob = all.at(i);
        EXPECT_EQ(blob.hex, hex(i));
        EXPECT_EQ(blob.size, content(i).size());
        if (blob.first < blob.size) {
            blob.before.update(content(i).substr(blob.first));
            EXPECT_EQ(blob.before.finish(), hex(i));
        }
        return blob.first;
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    tests::TestBundle bundle_;
    SignedManifest manifest_;
};

TEST_F(WantedBlobs, AllBlobsAreWantedOnAnEmptyHost) {
    ASSERT_EQ(wanted().size(), 3U);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(first(i), 0U);
}

TEST_F(WantedBlobs, BlobsInTheStoreAreNotWanted) {
    directory_.write("var/lib/gpuhost/store/sha256/" + hex(1), content(1));
    const auto blobs = wanted();
    ASSERT_EQ(blobs.size(), 2U);
    EXPECT_EQ(blobs[0].hex, hex(0));
    EXPECT_EQ(blobs[1].hex, hex(2));
}

TEST_F(WantedBlobs, PartialBlobsAreWantedFromTheirEnd) {
    leave(0, content(0).substr(0, 5));
    leave(1, content(1));
    leave(2, "");
    EXPECT_EQ(first(0), 5U);
    EXPECT_EQ(first(1), content(1).size());
    EXPECT_EQ(first(2), 0U);
}

TEST_F(WantedBlobs, BlobLostInPowerCutIsWantedWhole) {
    leave(0, std::string(content(0).size(), '\0'));
    leave(1, content(1) + "what was never in it");
    EXPECT_EQ(first(0), 0U);
    EXPECT_EQ(first(1), content(1).size()) << "bytes after its end are cut off";
}

TEST_F(WantedBlobs, LinksAreNotUsedAsParts) {
    leave(1, "");
    directory_.write("var/elsewhere", content(0));
    const std::string link = directory_.path(received_path(manifest_.digest, hex(0)).substr(1));
    ASSERT_EQ(::symlink("../../../../../elsewhere", link.c_str()), 0);
    EXPECT_EQ(first(0), 0U);
}

} // namespace
} // namespace gpuhost::images
