// SPDX-License-Identifier: Apache-2.0
#include "images/store/cached_catalogue.hpp"
#include "images/store/references.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::images {
namespace {

const std::string manifest_type = "application/vnd.oci.image.manifest.v1+json";

std::string hex(char digit) {
    return std::string(64, digit);
}

BundleImage image(const std::string& name, char digit) {
    return {name, hex(digit), manifest_type, 100, {"linux/amd64"}};
}

Reference name(const std::string& text) {
    return parse_reference(text).value();
}

void put(const base::Root& root, const std::string& bundle, std::uint64_t created,
         std::vector<BundleImage> images) {
    CatalogueEntry entry;
    entry.record.name = bundle;
    entry.record.created = created;
    entry.record.generation = 1;
    entry.record.manifest = hex('0');
    entry.images = std::move(images);
    const auto done = Catalogue(root).put(entry).and_then([&] { return Catalogue(root).finalize(); });
    ASSERT_TRUE(done) << done.error().message;
}

TEST(ReferencesTest, NameIsResolvedToADigest) {
    const References references({{"site", 7, 1, {image("docker.io/library/busybox:latest", 'a')}}});
    const auto claim = references.find(name("busybox"));
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->hex, hex('a'));
    EXPECT_EQ(claim->media_type, manifest_type);
    EXPECT_EQ(claim->size, 100U);
    EXPECT_EQ(*claim->platforms, std::vector<std::string>{"linux/amd64"});
    EXPECT_EQ(claim->repository, "docker.io/library/busybox");
    EXPECT_EQ(claim->tag, "latest");
    EXPECT_EQ(claim->bundle, "site");
    EXPECT_EQ(claim->generation, 7U);
    EXPECT_FALSE(references.find(name("busybox:1")));
    EXPECT_FALSE(references.find(name("alpine")));
    EXPECT_FALSE(references.find(name("busybox@sha256:" + hex('a')))) << "the name has no tag";
}

TEST(ReferencesTest, SignedBundlesPrecedeUnsignedOnes) {
    const BundleClaims vouched_for{"a", 1, 1, {image("r.io/a:v1", 'a')}};
    const BundleClaims not_vouched_for{"b", 2, 2, {image("r.io/a:v1", 'b'), image("r.io/b:v1", 'b')}, false};
    const References references({vouched_for, not_vouched_for});
    EXPECT_EQ(references.find(name("r.io/a:v1"))->hex, hex('a')) << "regardless of its age";
    EXPECT_EQ(references.find(name("r.io/b:v1"))->hex, hex('b'));
    EXPECT_EQ(references.claims(name("r.io/a:v1")).size(), 2U);
}

TEST(ReferencesTest, DigestsAreKeptCompletely) {
    const std::string digits = "0123456789abcdef0f1e2d3c4b5a69788796a5b4c3d2e1f0fedcba9876543210";
    BundleImage one = image("r.io/a:v1", 'a');
    one.hex = digits;
    EXPECT_EQ(References({{"site", 1, 1, {one}}}).find(name("r.io/a:v1"))->hex, digits);
}

TEST(ReferencesTest, NewestBundleOwnsTheName) {
    const auto winner = [](const BundleClaims& a, const BundleClaims& b) {
        const References one({a, b});
        const References other({b, a});
        EXPECT_EQ(one.size(), 1U);
        EXPECT_EQ(one.claims(name("r.io/a:v1")).size(), 2U);
        EXPECT_EQ(one.claims(name("r.io/a:v1"))[0].bundle, one.find(name("r.io/a:v1"))->bundle);
        EXPECT_EQ(one.find(name("r.io/a:v1"))->bundle, other.find(name("r.io/a:v1"))->bundle)
            << "in any order of reading";
        return std::string(one.find(name("r.io/a:v1"))->bundle);
    };
    const std::vector<BundleImage> images{image("r.io/a:v1", 'a')};
    EXPECT_EQ(winner({"x", 1, 20, images}, {"y", 9, 10, images}), "x") << "signed later";
    EXPECT_EQ(winner({"x", 2, 10, images}, {"y", 1, 10, images}), "x") << "the higher generation";
    EXPECT_EQ(winner({"x", 1, 10, images}, {"y", 1, 10, images}), "y") << "the last name";
}

TEST(ReferencesTest, EachNameIsListedOnceInOrder) {
    const References references({{"old", 1, 1, {image("r.io/a:v2", 'a'), image("r.io/a:v1", 'b')}},
                                 {"new", 1, 2, {image("r.io/a:v2", 'c'), image("busybox", 'd')}}});
    std::string seen;
    for (const Claim& claim : references.all())
        seen += std::string(claim.repository) + ":" + std::string(claim.tag) + "=" + claim.hex[0] + " ";
    EXPECT_EQ(seen, "docker.io/library/busybox:latest=d r.io/a:v1=b r.io/a:v2=c ");
    EXPECT_EQ(references.size(), 3U);
    EXPECT_EQ(references.registries(), (std::vector<std::string>{"docker.io", "r.io"}));
}

TEST(ReferencesTest, TagsAreListedInPages) {
    std::vector<BundleImage> images;
    for (const char* tag : {"v1", "v2", "v10", "Upper", "_"})
        images.push_back(image(std::string("r.io/a:") + tag, 'a'));
    images.push_back(image("r.io/a-b:other", 'a'));
    images.push_back(image("r.io/a/b:other", 'a'));
    const References references({{"x", 1, 1, images}, {"y", 1, 2, images}});
    using Tags = std::vector<std::string_view>;
    EXPECT_EQ(references.tags("r.io/a", "", 100), (Tags{"Upper", "_", "v1", "v10", "v2"}));
    EXPECT_EQ(references.tags("r.io/a", "", 2), (Tags{"Upper", "_"}));
    EXPECT_EQ(references.tags("r.io/a", "_", 2), (Tags{"v1", "v10"}));
    EXPECT_EQ(references.tags("r.io/a", "between", 1), (Tags{"v1"})) << "'last' need not exist";
    EXPECT_EQ(references.tags("r.io/a", "v2", 2), Tags{});
    EXPECT_EQ(references.tags("r.io/a", "", 0), Tags{});
    EXPECT_EQ(references.tags("r.io/none", "", 9), Tags{});
    for (const char* repository : {"r.io/a", "r.io/a-b", "r.io/a/b"})
        EXPECT_TRUE(references.has_repository(repository));
    for (const char* repository : {"r.io", "r.io/", "r.io/a:v1", "r.io/b", "r.io/a/", "", "zzz"})
        EXPECT_FALSE(references.has_repository(repository)) << repository;
}

TEST(ReferencesTest, FindsReferrersOfAnImage) {
    BundleImage signature = image("", '2');
    signature.subject = hex('a');
    signature.artifact_type = "application/example.signature";
    signature.annotations = {{"by", "us"}};
    BundleImage bill = signature;
    bill.hex = hex('1');
    const References references(
        {{"x", 1, 1, {image("r.io/a:v1", 'a'), signature, bill}}, {"y", 1, 1, {signature}}});
    const auto found = references.referrers(hex('a'));
    ASSERT_EQ(found.size(), 2U) << "each is listed once";
    EXPECT_EQ(*found[0], bill);
    EXPECT_EQ(*found[1], signature);
    EXPECT_TRUE(references.referrers(hex('1')).empty());
    EXPECT_EQ(references.size(), 1U) << "referrers have no name";
}

TEST(ReferencesTest, LoadSkipsDamagedEntries) {
    const tests::TempDir directory;
    ASSERT_TRUE(References::load(directory.root())) << "an empty catalogue";
    BundleImage signature = image("", '2');
    signature.subject = hex('a');
    signature.artifact_type = "type";
    signature.annotations = {{"by", "us"}};
    put(directory.root(), "good", 1, {image("r.io/a:v1", 'a'), signature});
    put(directory.root(), "broken", 2, {image("r.io/b:v1", 'b')});
    put(directory.root(), "odd", 2, {image("not normal", 'b'), image("r.io/c:v1", 'c')});
    directory.write("var/lib/gpuhost/catalogue/broken/images.json", "[{]");
    const auto references = References::load(directory.root());
    ASSERT_TRUE(references) << references.error().message;
    EXPECT_TRUE(references->find(name("r.io/a:v1")));
    EXPECT_TRUE(references->find(name("r.io/c:v1"))) << "a broken entry does not hide others";
    EXPECT_FALSE(references->find(name("r.io/b:v1")));
    ASSERT_EQ(references->problems().size(), 2U);
    EXPECT_EQ(references->problems()[0].message.find("bundle 'broken': "), 0U)
        << references->problems()[0].message;
    EXPECT_EQ(references->problems()[1].message.find("bundle 'odd': "), 0U)
        << references->problems()[1].message;
    ASSERT_EQ(references->referrers(hex('a')).size(), 1U);
    EXPECT_EQ(*references->referrers(hex('a'))[0], signature) << "all its members in the record";
}

class CachedCatalogueTest : public ::testing::Test {
  protected:
    /// Makes the last change appear old.
    void finalize() const {
        const struct timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
        ASSERT_EQ(
            ::utimensat(AT_FDCWD, (directory_.path() + std::string(catalogue_directory)).c_str(), times, 0),
            0);
    }
    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    CachedCatalogue<References> live_{root_};
};

TEST_F(CachedCatalogueTest, ImportIsVisibleImmediately) {
    ASSERT_TRUE(live_.current());
    for (char digit = 'a'; digit <= 'f'; ++digit) { // several in one tick of the clock
        put(root_, "site", 1, {image("r.io/a:v1", digit)});
        const auto now = live_.current();
        ASSERT_TRUE(now);
        EXPECT_EQ((*now)->find(name("r.io/a:v1"))->hex, hex(digit));
    }
    ASSERT_TRUE(Catalogue(root_).remove("site"));
    EXPECT_EQ((*live_.current())->size(), 0U);
}

TEST_F(CachedCatalogueTest, UnchangedCatalogueIsNotReloaded) {
    put(root_, "site", 1, {image("r.io/a:v1", 'a')});
    finalize();
    const auto before = live_.current().value();
    EXPECT_EQ(live_.current().value(), before);
    put(root_, "site", 1, {image("r.io/a:v1", 'b')});
    EXPECT_NE(live_.current().value(), before);
    EXPECT_EQ(before->find(name("r.io/a:v1"))->hex, hex('a')) << "an old copy stays readable";
}

} // namespace
} // namespace gpuhost::images
