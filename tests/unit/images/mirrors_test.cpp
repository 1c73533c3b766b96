// SPDX-License-Identifier: Apache-2.0
#include "images/catalogue.hpp"
#include "images/mirrors.hpp"
#include "images/mirrors_step.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using base::Json;

class MirrorsTest : public ::testing::Test {
  protected:
    void put(const std::string& bundle, std::vector<std::string> registries) {
        CatalogueEntry entry;
        entry.record.name = bundle;
        entry.record.manifest = bundle;
        entry.record.registries = std::move(registries);
        const Catalogue catalogue(root_);
        ASSERT_TRUE(catalogue.put(entry));
        ASSERT_TRUE(catalogue.settle());
    }
    /// What images.mirrors says that it changed.
    std::vector<std::string> apply(const MirrorSettings& settings = {true, "127.0.0.1:7715", true}) {
        warnings_.clear();
        const Json none;
        core::StepContext context{root_,
                                  none,
                                  "",
                                  "",
                                  {},
                                  [](double, std::string_view) {},
                                  [this](const std::string& text) { warnings_.push_back(text); }};
        const auto done = mirrors_kind().apply(context, mirrors_step(settings).args);
        EXPECT_TRUE(done) << done.error().message;
        return base::strings_or_empty(done.value_or(Json()), "files");
    }
    [[nodiscard]] std::string read(const std::string& path) const {
        return root_.read(path).value_or("(absent)");
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    std::vector<std::string> warnings_;
    const std::string hosts_ = "/etc/containerd/certs.d/docker.io/hosts.toml";
    const std::string containers_ = "/etc/containers/registries.conf.d/50-gpuhost.conf";
};

TEST_F(MirrorsTest, LeadsRuntimesThatAreHereToWhatBundlesHave) {
    put("site", {"docker.io", "registry.example:5000"});
    EXPECT_TRUE(apply().empty()) << "no runtime, no file";
    ASSERT_TRUE(root_.make_directories("/etc/containerd"));
    ASSERT_TRUE(root_.make_directories("/etc/containers"));
    EXPECT_EQ(apply().size(), 3U);
    EXPECT_EQ(read(hosts_), "# Written by gpuhostd; changes are lost.\n"
                            "[host.\"http://127.0.0.1:7715\"]\n"
                            "  capabilities = [\"pull\", \"resolve\"]\n"
                            "  dial_timeout = \"2s\"\n");
    EXPECT_EQ(read("/etc/containerd/certs.d/registry.example:5000/hosts.toml"), read(hosts_));
    EXPECT_EQ(read(containers_),
              "# Written by gpuhostd; changes are lost.\n"
              "\n[[registry]]\nprefix = \"docker.io\"\nlocation = \"docker.io\"\n"
              "[[registry.mirror]]\nlocation = \"127.0.0.1:7715/docker.io\"\ninsecure = true\n"
              "\n[[registry]]\nprefix = \"registry.example:5000\"\n"
              "location = \"registry.example:5000\"\n[[registry.mirror]]\n"
              "location = \"127.0.0.1:7715/registry.example_5000\"\ninsecure = true\n");
    EXPECT_TRUE(apply().empty()) << "what is right is not written again";
}

TEST_F(MirrorsTest, WithoutUpstreamNobodyElseIsAsked) {
    put("site", {"docker.io"});
    ASSERT_TRUE(root_.make_directories("/etc/containerd"));
    ASSERT_TRUE(root_.make_directories("/etc/containers"));
    EXPECT_EQ(apply({true, "127.0.0.1:1234", false}).size(), 2U);
    EXPECT_EQ(read(hosts_), "# Written by gpuhostd; changes are lost.\nserver = \"http://127.0.0.1:1234\"\n[host]\n");
    EXPECT_EQ(read(containers_).find("mirror"), std::string::npos);
    EXPECT_NE(read(containers_).find("\"docker.io\"\nlocation = \"127.0.0.1:1234/docker.io\"\n"),
              std::string::npos);
}

TEST_F(MirrorsTest, TakesAwayWhatIsItsOwnAndNothingElse) {
    put("site", {"docker.io", "quay.io"});
    ASSERT_TRUE(root_.make_directories("/etc/containerd"));
    directory_.write("etc/containerd/certs.d/quay.io/hosts.toml", "server = \"https://cache.example\"\n");
    directory_.write("etc/containerd/certs.d/docker.io/ca.crt", "somebody's");
    EXPECT_EQ(apply(), std::vector<std::string>{hosts_});
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("quay.io/hosts.toml is not gpuhost's"), std::string::npos) << warnings_[0];
    EXPECT_EQ(apply({false, "", true}), std::vector<std::string>{hosts_});
    EXPECT_EQ(read(hosts_), "(absent)");
    EXPECT_EQ(read("/etc/containerd/certs.d/docker.io/ca.crt"), "somebody's");
    EXPECT_EQ(read("/etc/containerd/certs.d/quay.io/hosts.toml"), "server = \"https://cache.example\"\n");
    put("site", {"nvcr.io"});
    apply();
    EXPECT_TRUE(root_.exists("/etc/containerd/certs.d/nvcr.io"));
    ASSERT_TRUE(Catalogue(root_).remove("site"));
    EXPECT_EQ(apply().size(), 1U);
    EXPECT_FALSE(root_.exists("/etc/containerd/certs.d/nvcr.io")) << "with its directory";
}

TEST_F(MirrorsTest, ARecordIsNotTrustedWithPaths) {
    ASSERT_TRUE(root_.make_directories("/etc/containerd"));
    for (const char* bad : {"../../etc", "a b.io", "", "docker.io/library", "docker"}) {
        put("site", {bad});
        const auto registries = mirrored_registries(root_);
        ASSERT_FALSE(registries) << bad;
        EXPECT_EQ(registries.error().code, base::Errc::BadContent);
    }
}

} // namespace
} // namespace gpuhost::images
