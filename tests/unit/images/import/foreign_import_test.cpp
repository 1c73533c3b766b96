// SPDX-License-Identifier: Apache-2.0
#include "images/host/mirrors.hpp"
#include "images/host/repositories.hpp"
#include "images/images_settings.hpp"
#include "images/import/foreign_import.hpp"
#include "images/import/images_component.hpp"
#include "images/store/references.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/docker_archives.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Json;
using base::Result;
using base::UniqueFd;

constexpr const char* manifest_type = "application/vnd.oci.image.manifest.v1+json";

class ForeignImport : public ::testing::Test {
  protected:
    /// Runs one import as the worker does.
    Result<BundleRecord> import(const std::string& file, const std::string& name = "airgap",
                                const ImportPolicy& policy = {}) {
        const UniqueFd fd(::open(directory_.path(file).c_str(), O_RDONLY | O_CLOEXEC));
        GPUHOST_CHECK(add_foreign_images(root_, {fd.get(), file}, name, host_, policy));
        GPUHOST_TRY(received, received_bundle(root_));
        GPUHOST_TRY(record, commit_unsigned(root_, received.value(), host_));
        GPUHOST_CHECK(finalize_import(root_, received->digest));
        return std::move(record);
    }
    Result<BundleRecord> import(const tests::DockerArchive& archive, const std::string& name = "airgap") {
        directory_.write("in.tar", archive.tar(tests::Packing::Gzip));
        return import("in.tar", name);
    }
    [[nodiscard]] std::vector<std::string> names(const std::string& path) const {
        return root_.list("/var/lib/gpuhost/" + path).value_or(std::vector<std::string>());
    }
    /// Writes a layout of one image with one layer. Returns its digest.
    std::string write_layout(const std::string& layer, const std::string& stored) const {
        const auto blob = [&](const std::string& content, const std::string& bytes, const char* type) {
            directory_.write("layout/blobs/sha256/" + content::sha256(content), bytes);
            return Json{{"mediaType", type},
                        {"digest", "sha256:" + content::sha256(content)},
                        {"size", content.size()}};
        };
        const std::string manifest = base::dump({{"schemaVersion", 2},
                                                 {"config", blob("{}", "{}", "config")},
                                                 {"layers", {blob(layer, stored, "layer")}}});
        Json descriptor = blob(manifest, manifest, manifest_type);
        descriptor["annotations"] = {{"org.opencontainers.image.ref.name", "r.io/app:v1"}};
        directory_.write("layout/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
        directory_.write("layout/index.json",
                         base::dump({{"schemaVersion", 2}, {"manifests", {descriptor}}}));
        return content::sha256(manifest);
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    HostFacts host_{"linux/arm64", {}};
};

TEST_F(ForeignImport, ArchiveBecomesAnUnsignedBundle) {
    const auto record = import(tests::two_layer_archive());
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->name, "airgap");
    EXPECT_FALSE(record->is_signed());
    EXPECT_EQ(record->images, 2U);
    EXPECT_EQ(record->blobs, 4U) << "manifest, configuration, two layers: nothing else of the archive";
    EXPECT_EQ(names("store/sha256").size(), 4U);
    EXPECT_TRUE(BlobStore(root_).has(content::sha256("base"), 4));
    EXPECT_EQ(names("store/incoming"), std::vector<std::string>{});
    EXPECT_EQ(names("catalogue/airgap"),
              (std::vector<std::string>{"blobs", "images.json", "manifest.json", "record.json"}));
    const auto kept = Catalogue(root_).record("airgap");
    ASSERT_TRUE(kept);
    EXPECT_FALSE(kept->is_signed());
    EXPECT_EQ(to_json(*kept)["unsigned"], true);
    const auto references = References::load(root_);
    ASSERT_TRUE(references);
    EXPECT_TRUE(references->find(parse_reference("app:v1").value()));
}

TEST_F(ForeignImport, CommitHashesBlobsBeforeNamingThem) {
    directory_.write("in.tar", tests::two_layer_archive().tar(tests::Packing::Gzip));
    const UniqueFd fd(::open(directory_.path("in.tar").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(add_foreign_images(root_, {fd.get(), "in.tar"}, "airgap", host_, {}));
    const auto received = received_bundle(root_);
    ASSERT_TRUE(received && *received);
    const std::string base = content::sha256("base");
    directory_.write(received_path((*received)->digest, base).substr(1), "evil");
    const auto refused = commit_unsigned(root_, **received, host_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::BadContent);
    EXPECT_FALSE(BlobStore(root_).has(base, 4));
    EXPECT_TRUE(import("in.tar")) << "the next import succeeds";
    EXPECT_TRUE(BlobStore(root_).has(base, 4));
}

TEST_F(ForeignImport, SameArchiveChangesNothingAndAnotherReplaces) {
    const auto once = import(tests::two_layer_archive());
    const auto again = import(tests::two_layer_archive());
    ASSERT_TRUE(once && again);
    EXPECT_EQ(once->manifest, again->manifest);
    EXPECT_EQ(names("store/sha256").size(), 4U);
    tests::DockerArchive empty;
    empty.members = {{"config.json", tests::docker_config({})}};
    empty.name("config.json", {}, nullptr);
    EXPECT_EQ(import(empty).error().code, Errc::Refused);
    EXPECT_EQ(names("store/incoming"), std::vector<std::string>{});
    const auto other = import("in.tar", "airgap", {.allow_downgrade = true});
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other->images, 1U) << "an image without a name, by digest";
    EXPECT_EQ(names("catalogue"), std::vector<std::string>{"airgap"});
}

TEST_F(ForeignImport, LayoutInADirectoryIsImported) {
    const std::string digest = write_layout("layer", "layer");
    const base::UniqueFd layout(
        ::open(directory_.path("layout").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::uint64_t before = unpacked_size(root_, {layout.get(), "layout"});
    const auto record = import("layout");
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->blobs, 3U);
    EXPECT_EQ(before, record->bytes);
    EXPECT_EQ(unpacked_size(root_, {layout.get(), "layout"}), 0U) << "all blobs are in the store";
    EXPECT_EQ(References::load(root_)->find(parse_reference("r.io/app:v1").value())->hex, digest);
}

TEST_F(ForeignImport, FailedImportLeavesNothing) {
    ASSERT_TRUE(import(tests::two_layer_archive(), "before"));
    const auto store = names("store/sha256");
    write_layout("layer", "REYAL");
    EXPECT_EQ(import("layout").error().code, Errc::BadContent) << "right size, but damaged";
    tests::DockerArchive broken = tests::two_layer_archive();
    broken.members[4].content = "not what the configuration says";
    EXPECT_EQ(import(broken).error().code, Errc::BadContent);
    directory_.write("in.tar", tests::two_layer_archive().tar().substr(0, 3000));
    EXPECT_FALSE(import("in.tar"));
    EXPECT_EQ(names("store/incoming"), std::vector<std::string>{});
    EXPECT_EQ(names("store/sha256"), store);
    EXPECT_EQ(names("catalogue"), std::vector<std::string>{"before"});
    EXPECT_FALSE(received_bundle(root_).value());
}

TEST_F(ForeignImport, SignedBundleIsNotReplaced) {
    CatalogueEntry entry;
    entry.record.name = "airgap";
    entry.record.manifest = std::string(64, '0');
    entry.record.signer = {"CN=Bundles", std::string(64, '1'), 0};
    ASSERT_TRUE(Catalogue(root_).put(entry).and_then([&] { return Catalogue(root_).finalize(); }));
    const auto refused = import(tests::two_layer_archive());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::Refused);
    EXPECT_NE(refused.error().message.find("signed by CN=Bundles"), std::string::npos);
    EXPECT_TRUE(import(tests::two_layer_archive(), "other"));
}

TEST_F(ForeignImport, ImageForAnotherPlatformIsRefused) {
    host_.platform = "linux/amd64";
    const auto refused = import(tests::two_layer_archive());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("image docker.io/library/app:v1: has nothing for platform "
                                           "'linux/amd64'"),
              std::string::npos)
        << refused.error().message;
}

TEST(ForeignImportName, FileNameWithoutSuffixesIsUsed) {
    EXPECT_EQ(bundle_name_of("k3s-airgap-images-amd64.tar.zst"), "k3s-airgap-images-amd64");
    EXPECT_EQ(bundle_name_of("/media/My Images.TAR"), "my-images.tar");
    EXPECT_EQ(bundle_name_of("layouts/app/"), "app");
    EXPECT_EQ(bundle_name_of("/"), "");
}

class UnsignedPlan : public ::testing::Test {
  protected:
    [[nodiscard]] core::Plan plan(const Json& request, bool allowed) const {
        core::Settings settings({images_setting_keys(), mirror_setting_keys(), repository_setting_keys()});
        EXPECT_TRUE(settings.set("Images", "AllowUnsigned", allowed ? "yes" : "no", "test"));
        EXPECT_TRUE(settings.set("Images", "MinimumGeneration", least_, "test"));
        const Json asked{{"images", request}};
        return ImagesComponent(root_, {{"driver.unpack", "take drivers", Json::object()}})
            .plan({settings, asked}, Json{{"platform", "linux/amd64"}});
    }
    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    std::string least_;
};

TEST_F(UnsignedPlan, RefusedUnlessTheSettingAllowsIt) {
    const Json request{{"request", "import"}, {"unsigned", true}, {"files", {"airgap.tar"}}};
    const core::Plan refused = plan(request, false);
    ASSERT_EQ(refused.problems.size(), 1U);
    EXPECT_EQ(refused.problems[0].code, Errc::Refused);
    EXPECT_NE(refused.problems[0].hint.find("AllowUnsigned=yes"), std::string::npos);
    EXPECT_TRUE(refused.steps.empty());
    const core::Plan allowed = plan(request, true);
    EXPECT_TRUE(allowed.problems.empty());
    ASSERT_EQ(allowed.steps.size(), 5U);
    for (const core::Step& step : allowed.steps)
        EXPECT_NE(step.kind, "driver.unpack") << "no other subsystem imports from it";
    EXPECT_EQ(allowed.steps[0].kind, "bundle.convert");
    EXPECT_EQ(allowed.steps[0].args["name"], "airgap");
}

TEST_F(UnsignedPlan, SettingAloneKeepsImportsSigned) {
    const core::Plan usual = plan({{"request", "import"}, {"files", {"airgap.tar"}}}, true);
    ASSERT_FALSE(usual.steps.empty());
    EXPECT_EQ(usual.steps[0].kind, "bundle.receive");
}

TEST_F(UnsignedPlan, WithoutAValidNameItIsRefused) {
    Json request{{"request", "import"}, {"unsigned", true}, {"files", {"-.tar"}}};
    EXPECT_EQ(plan(request, true).problems.at(0).code, Errc::InvalidArgument);
    request["name"] = "fine";
    EXPECT_TRUE(plan(request, true).problems.empty());
}

TEST_F(UnsignedPlan, NameWithALeastGenerationIsRefused) {
    least_ = "airgap:7";
    const Json request{{"request", "import"}, {"unsigned", true}, {"files", {"airgap.tar"}}};
    EXPECT_EQ(plan(request, true).problems.at(0).code, Errc::Refused);
    least_ = "site:7";
    EXPECT_TRUE(plan(request, true).problems.empty());
}

TEST_F(UnsignedPlan, InvalidLeastGenerationRefusesAllImports) {
    for (const char* bad : {"site", "site:", ":7", "site:x", "site:-1", "../x:7", "site:7:8", ":"}) {
        least_ = std::string("other:3 ") + bad;
        for (const bool is_signed : {false, true}) {
            const auto problems =
                plan({{"request", "import"}, {"unsigned", !is_signed}, {"files", {"a.tar"}}}, true).problems;
            ASSERT_EQ(problems.size(), 1U) << bad;
            EXPECT_EQ(problems[0].code, Errc::InvalidArgument) << bad;
        }
    }
    least_ = "site:7 other:3";
    const auto usual = plan({{"request", "import"}, {"files", {"a.tar"}}}, true);
    EXPECT_EQ(usual.steps.at(0).args["least-generations"], (Json{{"other", 3}, {"site", 7}}));
}

} // namespace
} // namespace gpuhost::images
