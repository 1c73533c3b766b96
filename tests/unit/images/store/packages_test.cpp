// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "images/bundle/distribution.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/host/repositories.hpp"
#include "images/import/artifacts.hpp"
#include "images/store/catalogue.hpp"
#include "images/store/packages.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using base::Json;

PackageTree tree_of(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return package_tree("debian-12", names);
}

std::vector<std::string> suites_of(const PackageTree& tree) {
    std::vector<std::string> said;
    for (const AptSuite& suite : tree.apt) {
        std::string text = suite.name + (suite.is_signed ? "!" : "");
        for (const std::string& component : suite.components)
            text += " " + component;
        said.push_back(text);
    }
    return said;
}

TEST(Distribution, DistributionsFollowFromOsRelease) {
    tests::TempDir directory;
    const base::Root root = directory.root();
    directory.write("usr/lib/os-release",
                    "ID=\"rocky\"\nID_LIKE=\"rhel centos\"\nVERSION_ID='9.4'\nVERSION=9\n");
    EXPECT_EQ(distributions_of(read_os_release(root)),
              (std::vector<std::string>{"rocky-9.4", "rhel-9.4", "centos-9.4"}));
    directory.write("etc/os-release", "ID=arch\n");
    EXPECT_EQ(distributions_of(read_os_release(root)), std::vector<std::string>{"arch"});
}

TEST(Distribution, MatchesByNameAndVersion) {
    const std::vector<std::string> rocky{"rocky-9.4", "rhel-9.4"};
    for (const char* good : {"rhel-9", "rocky-9", "rocky-9.4"})
        EXPECT_TRUE(fits_distribution(rocky, good)) << good;
    for (const char* bad : {"rhel", "rhel-", "rhel-9.", "rhel-9.40", "rhel-8", "el-9"})
        EXPECT_FALSE(fits_distribution(rocky, bad)) << bad;
    EXPECT_FALSE(fits_distribution({"debian-1"}, "debian-12"));
}

TEST(Distribution, UnsafeDirectoryNamesAreRefused) {
    for (const char* good : {"debian-12", "opensuse-leap-15.6", "amzn-2023"})
        EXPECT_TRUE(is_distribution(good)) << good;
    for (const std::string& bad :
         std::vector<std::string>{"", "debian", "-12", "debian-", "../12", "debian-12/..", "Debian-12",
                                  "a b-1", ".x-1", std::string(70, 'a') + "-1"})
        EXPECT_FALSE(is_distribution(bad)) << bad;
}

TEST(HostWordTest, RoundTripKeepsHostWords) {
    for (const char* word :
         {"linux/arm64", "kernel=6.6.1", "os=debian-12", "linux/arm/v7,os=rhel-9,kernel=6.6.1",
          "unknown/unknown", "gpu=nvidia", "linux/amd64,kernel=6.6.1,flavour=open,gpu=10de:2330"}) {
        const auto host = parse_host_word(word);
        ASSERT_TRUE(host) << word;
        EXPECT_EQ(host_word(*host), word);
    }
    for (const char* bad :
         {"", ",", "linux", "linux/arm64,", "linux/arm64,linux/amd64", "kernel=", "kernel=../x", "os=debian",
          "flavour=any", "flavour=open,flavour=open", "linux/amd64,gpu=h100", "gpu=", "gpu=10de:233",
          "gpu=10DE:2330", "gpu=10de-2330", "os=debian-12,os=debian-13"})
        EXPECT_FALSE(parse_host_word(bad)) << bad;
}

TEST(HostWordTest, AllPartsMustFit) {
    const HostFacts host{"linux/amd64", {"6.6.1"}, {"debian-12"}};
    const auto needs = [&](const char* word) {
        Member member;
        member.hosts = {word};
        return host.needs(member);
    };
    EXPECT_TRUE(needs("linux/amd64,os=debian-12"));
    EXPECT_TRUE(needs("os=debian-12,kernel=6.6.1"));
    EXPECT_FALSE(needs("linux/arm64,os=debian-12"));
    EXPECT_FALSE(needs("linux/amd64,os=debian-13"));
    EXPECT_FALSE(needs("linux/amd64,gpu=h100")) << "an unknown part matches no host";
}

TEST(HostWordTest, DriverMembersMatchFlavourAndGpu) {
    HostFacts host{"linux/amd64", {}, {}, {{"10de:2330", "10de:2331"}, "open", false}};
    const auto needs = [&](const char* word) {
        Member member;
        member.hosts = {word};
        return host.needs(member);
    };
    EXPECT_TRUE(needs("flavour=open,gpu=nvidia"));
    EXPECT_FALSE(needs("flavour=proprietary,gpu=nvidia"));
    EXPECT_TRUE(needs("gpu=10de:2331"));
    EXPECT_FALSE(needs("gpu=10de:1eb8"));
    host.driver.flavour.clear();
    EXPECT_TRUE(needs("flavour=proprietary")) << "either flavour matches";
    host.driver.wanted = true;
    EXPECT_FALSE(needs("gpu=10de:1eb8")) << "the host's GPUs are known";
    host.driver.gpus.clear();
    EXPECT_TRUE(needs("gpu=nvidia") && needs("gpu=10de:1eb8")) << "a driver is required there";
    host.driver.wanted = false;
    EXPECT_FALSE(needs("gpu=nvidia"));
    EXPECT_TRUE(needs("linux/amd64")) << "as in older bundles";
    const HostFacts back = host_facts_from_json(
        to_json(HostFacts{"linux/amd64", {"6.6.1"}, {"debian-12"}, {{"10de:2330"}, "open", true}}));
    EXPECT_EQ(back.kernels, std::vector<std::string>{"6.6.1"});
    EXPECT_EQ(back.distributions, std::vector<std::string>{"debian-12"});
    EXPECT_EQ(back.driver.gpus, std::vector<std::string>{"10de:2330"});
    EXPECT_EQ(back.driver.flavour, "open");
    EXPECT_TRUE(back.is("linux/amd64") && back.driver.wanted);
}

TEST(PackageTreeTest, SuitesFollowFromFileNames) {
    EXPECT_EQ(suites_of(tree_of({"Packages", "Release", "a.deb"})), std::vector<std::string>{"./"});
    EXPECT_EQ(suites_of(tree_of({"tools/Packages.gz", "tools/InRelease"})),
              std::vector<std::string>{"tools/!"});
    EXPECT_EQ(suites_of(tree_of({"dists/bookworm/InRelease", "dists/bookworm/main/binary-amd64/Packages.xz",
                                 "dists/bookworm/main/binary-amd64/Release",
                                 "dists/bookworm/main/binary-arm64/Packages",
                                 "dists/bookworm/non-free/extra/binary-all/Packages.gz",
                                 "dists/bookworm/main/debian-installer/binary-amd64/Packages.gz",
                                 "dists/bookworm/main/source/Sources.xz", "pool/main/a.deb"})),
              std::vector<std::string>{"bookworm! main non-free/extra"});
    EXPECT_EQ(suites_of(tree_of({"dists/stable/updates/Release", "dists/stable/updates/Release.gpg",
                                 "dists/stable/updates/main/binary-amd64/Packages"})),
              std::vector<std::string>{"stable/updates! main"});
    EXPECT_TRUE(tree_of({"dists/bookworm/main/binary-amd64/Packages", "Packages.gz.1", "xPackages",
                         "doc/Packages.txt"})
                    .empty())
        << "no Release";
    const PackageTree dnf = tree_of({"AppStream/repodata/repomd.xml", "AppStream/repodata/repomd.xml.asc",
                                     "repodata/repomd.xml", "xrepodata/repomd.xml", "gpuhost.asc"});
    ASSERT_EQ(dnf.dnf.size(), 2U);
    EXPECT_EQ(dnf.dnf[0].directory, "AppStream");
    EXPECT_TRUE(dnf.dnf[0].is_signed);
    EXPECT_EQ(dnf.first_unsigned(), "repodata/repomd.xml");
    EXPECT_TRUE(dnf.has_key);
    EXPECT_TRUE(dnf.apt.empty());
}

TEST(PackageTreeTest, FindsTheSignaturesOfEachRepository) {
    const std::vector<std::string> names{"InRelease",
                                         "Packages",
                                         "Release",
                                         "Release.gpg",
                                         "dists/a/InRelease",
                                         "dists/a/main/binary-amd64/Packages",
                                         "dists/b/Release",
                                         "dists/b/Release.gpg",
                                         "dists/b/main/binary-amd64/Packages",
                                         "dists/c/Release",
                                         "dists/c/main/binary-amd64/Packages",
                                         "dists/empty/InRelease",
                                         "el/repodata/repomd.xml",
                                         "el/repodata/repomd.xml.asc",
                                         "repodata/repomd.xml",
                                         "tools/Packages",
                                         "tools/Release",
                                         "tools/Release.gpg"};
    std::vector<std::string> found;
    for (const IndexSignature& signature : tree_of(names).signatures(names))
        found.push_back(signature.file + " " + signature.index);
    EXPECT_EQ(found, (std::vector<std::string>{"InRelease ", "dists/a/InRelease ",
                                               "dists/b/Release.gpg dists/b/Release",
                                               "tools/Release.gpg tools/Release",
                                               "el/repodata/repomd.xml.asc el/repodata/repomd.xml"}));
}

TEST(PackageTreeTest, NamesWithBlanksAndQuotesAreOmitted) {
    EXPECT_TRUE(tree_of({"a b/Packages", "a\"b/repodata/repomd.xml", "dists/x y/Release",
                         "dists/x y/main/binary-amd64/Packages", "#/Packages"})
                    .empty());
}

TEST(PackageTreeTest, RecordsWithUnsafeWordsAreRefused) {
    const Json good =
        to_json(tree_of({"dists/x/Release", "dists/x/main/binary-all/Packages", "repodata/repomd.xml"}));
    ASSERT_TRUE(package_tree_from_json(good));
    EXPECT_EQ(to_json(*package_tree_from_json(good)), good);
    for (const auto& [path, bad] :
         {std::pair("/distribution", "../../etc"), std::pair("/apt/0/suite", "x\nTrusted: yes"),
          std::pair("/apt/0/suite", "../x"), std::pair("/apt/0/components/0", "main]"),
          std::pair("/dnf/0/directory", "/etc"), std::pair("/dnf/0/directory", "a\n[b]")}) {
        Json changed = good;
        changed[Json::json_pointer(path)] = bad;
        EXPECT_FALSE(package_tree_from_json(changed)) << path << " " << bad;
    }
}

class RepositoriesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        directory_.write("etc/os-release", "ID=debian\nVERSION_ID=12\n");
        ASSERT_TRUE(root_.make_directories(apt_sources));
    }
    void put(const std::string& bundle, bool is_signed = true) {
        CatalogueEntry entry;
        entry.record.name = bundle;
        entry.record.manifest = bundle;
        entry.record.signer.sha256 = is_signed ? "x" : "";
        entry.packages = {{"debian-12", {{"Packages", "aa"}, {"Release", "bb"}, {"pool/main/a.deb", "cc"}}}};
        entry.record.packages = {package_tree("debian-12", {"Packages", "Release", "pool/main/a.deb"})};
        const Catalogue catalogue(root_);
        ASSERT_TRUE(catalogue.put(entry));
        ASSERT_TRUE(catalogue.finalize());
    }
    std::vector<std::string> change(bool on = true) {
        const Repositories found = observe_repositories(root_, on);
        left_ = found.left;
        std::vector<std::string> changed;
        for (const content::FileOperation& file : found.wrong) {
            EXPECT_TRUE(content::perform(root_, file)) << file.path;
            changed.push_back(file.path);
        }
        return changed;
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    std::vector<std::string> left_;
    const std::string source_ = "/etc/apt/sources.list.d/gpuhost-site.sources";
};

TEST_F(RepositoriesTest, RepositoryFilesFollowTheCatalogue) {
    put("site");
    put("airgap", false);
    EXPECT_EQ(change(), std::vector<std::string>{source_}) << "the other one is not signed";
    EXPECT_EQ(root_.read(source_).value_or(""),
              "# Written by gpuhostd; changes are lost.\n"
              "# Packages of bundle site, generation 0\n"
              "\nTypes: deb\nURIs: file:/var/lib/gpuhost/catalogue/site/packages/debian-12\nSuites: ./\n"
              "# The bundle's signature covers each file.\nTrusted: yes\n"
              "# An imported index may be old, and the clock wrong. A bundle has generations instead.\n"
              "Check-Valid-Until: no\nCheck-Date: no\n");
    EXPECT_TRUE(change().empty()) << "correct files are not written again";
    ASSERT_TRUE(Catalogue(root_).remove("site"));
    directory_.write("etc/apt/sources.list.d/gpuhost-mine.sources", "Types: deb\n");
    EXPECT_EQ(change(), std::vector<std::string>{source_});
    EXPECT_TRUE(root_.exists("/etc/apt/sources.list.d/gpuhost-mine.sources"))
        << "a file of the administrator";
}

TEST_F(RepositoriesTest, UnreadableRecordRemovesNoRepository) {
    put("site");
    EXPECT_EQ(change().size(), 1U);
    directory_.write("var/lib/gpuhost/catalogue/site/record.json", "damaged");
    EXPECT_TRUE(change().empty());
    EXPECT_EQ(left_.size(), 1U);
    put("other");
    EXPECT_EQ(change().size(), 1U);
    ASSERT_TRUE(Catalogue(root_).remove("other"));
    EXPECT_EQ(change().size(), 1U) << "files of removed bundles are removed";
    EXPECT_EQ(change(false), std::vector<std::string>{source_}) << "disabling removes the file";
}

TEST_F(RepositoriesTest, RepositoryIsRemovedBeforeItsBundle) {
    put("site");
    EXPECT_EQ(change().size(), 1U);
    const Repositories found = observe_repositories(root_, true, "site");
    ASSERT_EQ(found.wrong.size(), 1U);
    EXPECT_EQ(found.wrong[0].path, source_);
    EXPECT_EQ(found.wrong[0].type, content::FileOperation::Type::Remove);
}

/// The file belongs to root, the record to another user.
TEST_F(RepositoriesTest, RecordCannotInjectIntoTheHeading) {
    CatalogueEntry entry;
    BundleRecord record;
    record.name = "site";
    record.manifest = "x\n\nTypes: deb\nURIs: http://evil.example\nSuites: ./\nTrusted: yes";
    record.signer.sha256 = "x";
    record.packages = {package_tree("debian-12", {"Packages", "Release"})};
    entry.record = record;
    ASSERT_TRUE(Catalogue(root_).put(entry));
    EXPECT_EQ(change().size(), 1U);
    EXPECT_EQ(root_.read(source_).value_or("").find("evil"), std::string::npos);
}

TEST_F(RepositoriesTest, DnfIdsAreValidAndUnique) {
    BundleRecord record;
    record.name = "site";
    const std::string text =
        dnf_repository(record, package_tree("rhel-9", {"a-b/repodata/repomd.xml", "a/b+c/repodata/repomd.xml",
                                                       "a/b/repodata/repomd.xml"}));
    for (const char* id :
         {"[gpuhost-site-rhel-9:a-b]", "[gpuhost-site-rhel-9:a:b]", "[gpuhost-site-rhel-9:a:b_2bc]"})
        EXPECT_NE(text.find(id), std::string::npos) << text;
}

TEST_F(RepositoriesTest, OtherDistributionsRepositoriesAreRemoved) {
    put("site");
    EXPECT_EQ(change().size(), 1U);
    directory_.write("etc/os-release", "ID=debian\nVERSION_ID=13\n");
    EXPECT_EQ(change(), std::vector<std::string>{source_});
    EXPECT_FALSE(root_.exists(source_));
}

} // namespace
} // namespace gpuhost::images
