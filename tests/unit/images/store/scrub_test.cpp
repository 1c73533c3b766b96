// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/store/blob_store.hpp"
#include "images/store/scrub.hpp"
#include "tests/support/read_seam.h"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Json;

// State of the seam, a C function.
unsigned unreadable; // NOLINT: number of reads of blobs that fail first

std::set<std::string> bad_sectors; // NOLINT: blobs whose reads all fail

bool is_unreadable(int fd) {
    std::array<char, 512> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), path.data(), path.size() - 1) <= 0)
        return false;
    const std::string_view file = path.data();
    if (file.find("/store/sha256/") == std::string_view::npos)
        return false;
    return bad_sectors.count(std::string(file.substr(file.rfind('/') + 1))) != 0 ||
           (unreadable > 0 && unreadable-- > 0);
}

class Scrubbing : public ::testing::Test {
  protected:
    std::string add_blob(const std::string& content) {
        const std::string hex = content::sha256(content);
        directory_.write("var/lib/gpuhost/store/sha256/" + hex, content);
        return hex;
    }
    void add_bundle(const std::string& name, const std::vector<std::string>& contents) {
        std::vector<OwnedBlob> blobs;
        for (const std::string& content : contents)
            blobs.push_back({content::sha256(content), content.size()});
        std::sort(blobs.begin(), blobs.end());
        std::string lines;
        for (const OwnedBlob& blob : blobs)
            lines += blob.hex + " " + std::to_string(blob.size) + "\n";
        directory_.write("var/lib/gpuhost/catalogue/" + name + "/blobs", lines);
        BundleRecord record;
        record.name = name;
        record.manifest = content::sha256(lines);
        directory_.write("var/lib/gpuhost/catalogue/" + name + "/record.json", base::dump(to_json(record)));
    }
    Scrub scrub() { return Scrubber::open(root_).value().run(); }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(Scrubbing, IntactStoreHasNoDamage) {
    add_blob("one");
    add_blob("two2");
    add_bundle("a", {"one", "two2"});
    add_bundle("b", {"two2"});
    std::uint64_t told = 0;
    const Scrubber scrubber = Scrubber::open(root_).value();
    EXPECT_EQ(scrubber.total_bytes(), 7U); // each blob once
    const Scrub found = scrubber.run([&](std::uint64_t n) { told += n; });
    EXPECT_TRUE(found.damages.empty());
    EXPECT_EQ(found.blobs, 2U);
    EXPECT_EQ(found.bytes, 7U);
    EXPECT_EQ(told, 7U);
    EXPECT_TRUE(found.problems.empty());
}

TEST_F(Scrubbing, DamagedBlobIsUnlinkedAndItsBundlesNamed) {
    const std::string good = add_blob("good");
    const std::string bad = add_blob("fine");
    const std::string cut = add_blob("whole");
    add_bundle("a", {"good", "fine"});
    add_bundle("b", {"fine", "whole", "never came"});
    directory_.write("var/lib/gpuhost/store/sha256/" + bad, "fibe");
    directory_.write("var/lib/gpuhost/store/sha256/" + cut, "who");

    Scrub found = scrub();

    ASSERT_EQ(found.damages.size(), 3U);
    std::sort(found.damages.begin(), found.damages.end(),
              [](const Damage& x, const Damage& y) { return x.why < y.why; });
    EXPECT_EQ(found.damages[0].why, "digest mismatch");
    EXPECT_EQ(found.damages[0].bundles, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(found.damages[1].why, "missing");
    EXPECT_EQ(found.damages[2].why, "size mismatch: 3 bytes instead of 5");
    EXPECT_EQ(found.damages[2].bundles, std::vector<std::string>{"b"});
    EXPECT_TRUE(found.damages[0].removed && !found.damages[1].removed && found.damages[2].removed);
    EXPECT_EQ(root_.list(blobs_directory).value(), std::vector<std::string>{good});
}

TEST_F(Scrubbing, TemporaryDiskErrorsRemoveNothing) {
    for (const unsigned count : {1U, 10U, 17U}) {
        std::vector<std::string> contents;
        for (unsigned i = 0; i < count; ++i)
            add_blob(contents.emplace_back("blob " + std::to_string(i)));
        add_bundle("a", contents);
        unreadable = 2 * count; // each blob is read twice, and once more at the end
        seam_read_fails = is_unreadable;
        const Scrub found = scrub();
        seam_read_fails = nullptr;
        EXPECT_EQ(unreadable, 0U);
        EXPECT_TRUE(found.damages.empty());
        EXPECT_EQ(root_.list(blobs_directory)->size(), count);
    }
}

TEST_F(Scrubbing, UnreadableDiskLosesNoBlobs) {
    // {blobs, number of unreadable ones, whether these are bad sectors}
    for (const auto& [count, bad, removed] :
         {std::tuple(1U, 1U, false), {10U, 10U, false}, {17U, 16U, true}, {18U, 17U, false}}) {
        ASSERT_TRUE(root_.remove_tree(blobs_directory));
        std::vector<std::string> contents;
        bad_sectors.clear();
        for (unsigned i = 0; i < count; ++i) {
            const std::string hex = add_blob(contents.emplace_back("blob " + std::to_string(i)));
            if (i < bad)
                bad_sectors.insert(hex);
        }
        add_bundle("a", contents);
        seam_read_fails = is_unreadable;
        const Scrub found = scrub();
        seam_read_fails = nullptr;
        bad_sectors.clear();

        ASSERT_EQ(found.damages.size(), bad);
        for (const Damage& damage : found.damages) {
            EXPECT_NE(damage.why.find("can't be read"), std::string::npos) << damage.why;
            EXPECT_NE(damage.why.find("Input/output error"), std::string::npos) << damage.why;
            EXPECT_EQ(damage.removed, removed) << count;
        }
        EXPECT_EQ(root_.list(blobs_directory)->size(), removed ? count - bad : count);
    }
}

TEST_F(Scrubbing, BlobReadableOnRetryIsIntact) {
    add_blob("one");
    add_bundle("a", {"one"});
    unreadable = 1;
    seam_read_fails = is_unreadable;
    const Scrub found = scrub();
    seam_read_fails = nullptr;
    EXPECT_EQ(unreadable, 0U);
    EXPECT_TRUE(found.damages.empty());
}

TEST_F(Scrubbing, LinksAndPipesAreDamageWithoutBlocking) {
    const std::string pipe = content::sha256("pipe");
    const std::string link = content::sha256("link");
    add_blob("other");
    directory_.write("elsewhere", "link");
    ASSERT_EQ(::mkfifo(directory_.path("var/lib/gpuhost/store/sha256/" + pipe).c_str(), 0600), 0);
    ASSERT_EQ(::symlink(directory_.path("elsewhere").c_str(),
                        directory_.path("var/lib/gpuhost/store/sha256/" + link).c_str()),
              0);
    add_bundle("a", {"pipe", "link"});
    EXPECT_EQ(scrub().damages.size(), 2U);
    EXPECT_TRUE(root_.exists("/elsewhere"));
}

TEST_F(Scrubbing, UnreadableBundleIsReported) {
    add_blob("one");
    add_bundle("a", {"one"});
    directory_.write("var/lib/gpuhost/catalogue/b/blobs", "nonsense\n");
    const Scrub found = scrub();
    EXPECT_EQ(found.blobs, 1U);
    ASSERT_EQ(found.problems.size(), 1U);
    EXPECT_NE(found.problems[0].find("bundle 'b'"), std::string::npos) << found.problems[0];
}

TEST_F(Scrubbing, BundleRemovedMeanwhileIsNotDamaged) {
    add_blob("one");
    add_bundle("a", {"one", "two"});
    add_bundle("b", {"two"});
    const Scrubber scrubber = Scrubber::open(root_).value();
    const Scrub found = scrubber.run([&](std::uint64_t) {
        add_bundle("a", {"one"}); // a newer generation
        (void)root_.remove_tree("/var/lib/gpuhost/catalogue/b");
    });
    EXPECT_TRUE(found.damages.empty());
}

TEST_F(Scrubbing, DamageEndsWithRepairOrWithoutOwners) {
    EXPECT_TRUE(last_scrub(root_).is_null());
    const std::vector<std::string> contents{"one", "two", "three", "four"};
    for (const std::string& content : contents) {
        add_blob(content);
        add_bundle(content, {content});
        directory_.write("var/lib/gpuhost/store/sha256/" + content::sha256(content), "xxx");
    }
    ASSERT_TRUE(write_scrub(root_, scrub()));
    EXPECT_EQ(last_scrub(root_)["damaged"].size(), 4U);
    add_blob("one");                                                  // imported again
    ASSERT_TRUE(root_.remove_tree("/var/lib/gpuhost/catalogue/two")); // removed
    add_bundle("three", {"another"});                                 // replaced by another generation
    const Json left = last_scrub(root_)["damaged"];
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0]["digest"], "sha256:" + content::sha256("four"));
    EXPECT_EQ(last_scrub(root_)["blobs"], 4U);
}

TEST_F(Scrubbing, InvalidReportIsIgnored) {
    add_bundle("a", {"one"});
    const std::string manifest = Catalogue(root_).record("a").value().manifest;
    const auto report = [&](const std::string& digest, const std::string& bundle, const std::string& of) {
        const Json damage{{"digest", digest}, {"size", 3}, {"bundles", {bundle}}};
        directory_.write("var/lib/gpuhost/store/scrub.json",
                         base::dump({{"damaged", {damage}}, {"manifests", {{bundle, of}}}}));
        return last_scrub(root_)["damaged"].size();
    };
    const std::string digest = "sha256:" + content::sha256("one");
    EXPECT_EQ(report(digest, "a", manifest), 1U);
    EXPECT_EQ(report("sha256:../../x", "a", manifest), 0U);
    EXPECT_EQ(report(digest, "../catalogue/a", manifest), 0U);
    EXPECT_EQ(report(digest, "a", "other"), 0U);
    for (const char* text :
         {"", "[]", "{", R"({"damaged": 3})", R"({"damaged": [3, {}], "manifests": []})"}) {
        directory_.write("var/lib/gpuhost/store/scrub.json", text);
        const Json last = last_scrub(root_);
        EXPECT_TRUE(last.is_null() || last["damaged"].empty()) << text;
    }
}

TEST_F(Scrubbing, ReportListsAThousandAndCountsOthers) {
    Scrub many;
    many.damages.resize(1200);
    const Json told = to_json(many);
    EXPECT_EQ(told["damaged"].size(), 1000U);
    EXPECT_EQ(told["more"], 200U);
}

} // namespace
} // namespace gpuhost::images
