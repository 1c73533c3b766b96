// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/store.hpp"
#include "tests/unit/kmod/store_fixture.hpp"

#include <array>

#include <sys/stat.h>

namespace gpuhost::kmod {
namespace {

using StoreReadTest = StoreTest;

TEST_F(StoreReadTest, MissingStoreIsEmpty) {
    const tests::TempDir empty;
    const auto store = read_store(empty.root());
    ASSERT_TRUE(store);
    EXPECT_TRUE(store->versions.empty());
    EXPECT_TRUE(store->selected.empty());
}

TEST_F(StoreReadTest, DamagedSetIsReportedAndOthersAreListed) {
    ASSERT_TRUE(import(modules()));
    ASSERT_TRUE(import(packages()));
    const std::string manifest = store().versions[0].modules[0].path + "/manifest.json";
    ASSERT_EQ(::chmod(directory_.path(manifest).c_str(), 0644), 0);
    directory_.write(manifest.substr(1), "{}");
    const Store now = store();
    ASSERT_EQ(now.problems.size(), 1U);
    EXPECT_NE(now.problems[0].find("digest mismatch"), std::string::npos);
    EXPECT_TRUE(now.versions[0].modules.empty());
    EXPECT_EQ(now.versions[0].userland.size(), 1U);
}

TEST_F(StoreReadTest, VerifyOfOneVersionIgnoresOthers) {
    ASSERT_TRUE(import(modules()));
    ASSERT_TRUE(import(modules("535.261.03")));
    const std::string manifest = store().find("535.261.03")->modules[0].path + "/manifest.json";
    ASSERT_EQ(::chmod(directory_.path(manifest).c_str(), 0644), 0);
    directory_.write(manifest.substr(1), "{}");
    EXPECT_TRUE(apply("store.verify", {{"versions", {test_version}}}));
    EXPECT_FALSE(apply("store.verify", {{"versions", {"535.261.03"}}}));
    EXPECT_FALSE(apply("store.verify"));
}

TEST_F(StoreReadTest, SetAtAnotherPathIsAProblem) {
    ASSERT_TRUE(import(modules()));
    ASSERT_TRUE(
        root_.rename("/var/lib/gpuhost/driver/" + test_version, "/var/lib/gpuhost/driver/535.261.03"));
    const Store now = store();
    EXPECT_TRUE(now.versions.empty());
    ASSERT_EQ(now.problems.size(), 1U);
    EXPECT_NE(now.problems[0].find("does not match its path in the store"), std::string::npos);
}

TEST_F(StoreReadTest, NewestSetIsFirst) {
    ASSERT_TRUE(import(modules()));
    const std::string first = store().versions[0].modules[0].path;
    timespec old[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, directory_.path(first + "/manifest.json").c_str(), old, 0), 0);
    Inputs other = modules();
    other.push_back(
        {"nvidia-drm.ko", tests::nvidia_module("nvidia_drm", test_version, test_kernel, "nvidia")});
    ASSERT_TRUE(import(other));
    const Store now = store();
    ASSERT_EQ(now.versions[0].modules.size(), 2U);
    EXPECT_EQ(now.modules_for(test_version, test_kernel)->modules.size(), 3U);
    EXPECT_EQ(now.versions[0].modules[1].path, first);
}

TEST_F(StoreReadTest, OpenModulesArePreferredWithAny) {
    Store store;
    store.versions.push_back({});
    DriverVersion& version = store.versions.back();
    version.version = test_version;
    const std::array<std::array<std::string, 3>, 4> sets{{{"6.6.7", "open", "a"},
                                                          {test_kernel, "proprietary", "b"},
                                                          {test_kernel, "open", "c"},
                                                          {test_kernel, "open", "d"}}};
    for (const auto& [kernel, flavour, digest] : sets) {
        version.modules.emplace_back();
        version.modules.back().kernel = kernel;
        version.modules.back().flavour = flavour;
        version.modules.back().digest = digest;
    }
    EXPECT_EQ(store.modules_for(test_version, test_kernel)->digest, "c");
    EXPECT_EQ(store.modules_for(test_version, test_kernel, "proprietary")->digest, "b");
    version.modules.erase(version.modules.begin() + 2, version.modules.end());
    EXPECT_EQ(store.modules_for(test_version, test_kernel)->digest, "b");
    EXPECT_EQ(store.modules_for(test_version, test_kernel, "open"), nullptr);
}

TEST_F(StoreReadTest, DocumentHasSetsAndSelections) {
    ASSERT_TRUE(import(modules()));
    ASSERT_TRUE(import(packages()));
    ASSERT_TRUE(write_selection(root_, test_kernel,
                                {{test_version, "", store().versions[0].modules[0].digest}, std::nullopt}));
    const base::Json json = to_json(store());
    EXPECT_EQ(json["versions"][0]["userland"][0]["nvml"], true);
    EXPECT_EQ(json["selected"][test_kernel]["version"], test_version);
}

TEST(SelectionTest, SelectionIsReadBackAndRemoved) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    EXPECT_EQ(read_selection(root, test_kernel).value(), std::nullopt);
    const Selection selection{{"550.163.01", "u", "m"}, Generation{"535.261.03", "", "n"}};
    ASSERT_TRUE(write_selection(root, test_kernel, selection));
    EXPECT_EQ(read_selection(root, test_kernel).value(), selection);
    ASSERT_TRUE(remove_selection(root, test_kernel));
    EXPECT_EQ(read_selection(root, test_kernel).value(), std::nullopt);
    ASSERT_TRUE(remove_selection(root, test_kernel));
}

TEST(SelectionTest, DamageIsReportedAndPathsAreRefused) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    directory.write("var/lib/gpuhost/driver/selected/6.1", "{}");
    EXPECT_EQ(read_selection(root, "6.1").error().code, base::Errc::BadContent);
    EXPECT_EQ(read_store(root)->problems.size(), 1U);
    EXPECT_EQ(write_selection(root, "../6.1", {}).error().code, base::Errc::InvalidArgument);
    EXPECT_EQ(read_selection(root, "../6.1").error().code, base::Errc::InvalidArgument);
}

} // namespace
} // namespace gpuhost::kmod
