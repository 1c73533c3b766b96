// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "images/store/catalogue.hpp"
#include "images/store/link_tree.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

TEST(LinkTreeTest, InvalidAndConflictingPathsAreRefused) {
    for (const char* good : {"a.deb", "pool/main/a+b~1_amd64.deb", "pool/a b"})
        EXPECT_TRUE(is_path_in_tree(good)) << good;
    for (const std::string& bad : std::vector<std::string>{
             std::string(""), std::string("/etc/passwd"), std::string("../a"), std::string("a/../b"),
             std::string("./a"), std::string("a//b"), std::string("a/"), std::string("a\nb"),
             std::string(1025, 'a'),
             std::string("a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/") + "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"})
        EXPECT_FALSE(is_path_in_tree(bad)) << bad;
    EXPECT_EQ(file_and_directory({"a", "a.b", "a/b"}), "a");
    EXPECT_EQ(file_and_directory({"a", "a.b", "b/c"}), "");
}

class EntryTest : public ::testing::Test {
  protected:
    CatalogueEntry entry() const {
        CatalogueEntry entry;
        entry.record.name = "site";
        entry.record.manifest = "x";
        entry.packages = {{"debian-12", {{"Packages", "aa"}, {"pool/main/a.deb", "bb"}}}};
        entry.files = {{"runbooks", {{"en/start.pdf", "cc"}, {"start.pdf", "cc"}}}};
        entry.record.files = {{"runbooks", 2}};
        return entry;
    }
    void SetUp() override {
        for (const char* hex : {"aa", "bb", "cc"})
            directory_.write(std::string("var/lib/gpuhost/store/sha256/") + hex, hex);
        ASSERT_TRUE(catalogue_.put(entry()));
        ASSERT_TRUE(catalogue_.finalize());
    }
    std::string read(const std::string& path) const { return root_.read(path).value_or(""); }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    Catalogue catalogue_{root_};
};

TEST_F(EntryTest, LinksPointIntoTheStore) {
    EXPECT_EQ(read(packages_directory("site", "debian-12") + "/pool/main/a.deb"), "bb");
    EXPECT_EQ(read(files_directory("site", "runbooks") + "/start.pdf"), "cc");
    EXPECT_EQ(read(files_directory("site", "runbooks") + "/en/start.pdf"), "cc");
}

TEST_F(EntryTest, RecordListsItsFiles) {
    const auto record = catalogue_.record("site");
    ASSERT_TRUE(record) << record.error().message;
    ASSERT_EQ(record->files.size(), 1U);
    EXPECT_EQ(record->files[0].name, "runbooks");
    EXPECT_EQ(record->files[0].files, 2U);
    EXPECT_EQ(base::string_or(to_json(*record)["files"][0], "directory", ""),
              "/var/lib/gpuhost/catalogue/site/files/runbooks");
    base::Json bad = to_json(*record);
    bad["files"][0]["name"] = "../../etc";
    EXPECT_FALSE(record_from_json(bad));
}

TEST_F(EntryTest, StripRemovesTreesButKeepsTheRecord) {
    ASSERT_TRUE(catalogue_.strip("site"));
    EXPECT_FALSE(root_.exists(files_directory("site", "runbooks")));
    EXPECT_FALSE(root_.exists(packages_directory("site", "debian-12")));
    EXPECT_TRUE(catalogue_.record("site"));
}

} // namespace
} // namespace gpuhost::images
