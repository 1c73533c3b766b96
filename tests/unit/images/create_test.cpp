// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/content/sha256.hpp"
#include "images/create.hpp"
#include "images/oci.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Json;

constexpr const char* index_type = "application/vnd.oci.image.index.v1+json";
constexpr const char* manifest_type = "application/vnd.oci.image.manifest.v1+json";

class Create : public ::testing::Test {
  protected:
    Create() { directory_.write("app/oci-layout", R"({"imageLayoutVersion":"1.0.0"})"); }

    Json blob(const std::string& content, const std::string& type) const {
        const std::string hex = content::sha256(content);
        directory_.write("app/blobs/sha256/" + hex, content);
        return {{"mediaType", type}, {"digest", "sha256:" + hex}, {"size", content.size()}};
    }
    Json image(const std::vector<std::string>& layers, const std::string& config = "{}") const {
        Json manifest{{"schemaVersion", 2}, {"config", blob(config, "config")}, {"layers", Json::array()}};
        for (const std::string& layer : layers)
            manifest["layers"].push_back(blob(layer, "layer"));
        return blob(base::dump(manifest), manifest_type);
    }
    static Json on(Json descriptor, const std::string& machine) {
        descriptor["platform"] = {{"os", "linux"}, {"architecture", machine}};
        return descriptor;
    }
    Json index(const std::vector<Json>& manifests) const {
        return blob(base::dump({{"schemaVersion", 2}, {"manifests", manifests}}), index_type);
    }
    void layout(const std::vector<Json>& manifests) const {
        directory_.write("app/index.json", base::dump({{"schemaVersion", 2}, {"manifests", manifests}}));
    }
    [[nodiscard]] base::Result<Contents> collected(const std::string& more = "") const {
        GPUHOST_TRY(spec, parse_bundle_spec(
                              "[Bundle]\nName=site\nGeneration=3\n[Image r.io/app:v1]\nLayout=app\n" + more,
                              "site.spec"));
        return collect(spec, directory_.path(), 5);
    }
    [[nodiscard]] static std::map<std::string, std::vector<std::string>> hosts(const Contents& contents) {
        std::map<std::string, std::vector<std::string>> found;
        for (const Member& member : contents.manifest.members)
            if (member.is_blob())
                found[member.hex] = member.hosts;
        return found;
    }

    tests::TempDir directory_;
};

TEST_F(Create, TakesAllThatAnImageNames) {
    const Json app = image({"one", "two", "one"});
    blob("not of this image", "layer");
    layout({app});
    const auto contents = collected();
    ASSERT_TRUE(contents) << contents.error().message;
    const BundleManifest& manifest = contents->manifest;
    EXPECT_EQ(manifest.name, "site");
    EXPECT_EQ(manifest.generation, 3U);
    EXPECT_EQ(manifest.created, 5U);
    ASSERT_EQ(manifest.members.size(), 6U) << "oci-layout, index.json, manifest, config, two layers";
    EXPECT_EQ(manifest.members[0].path, "oci-layout");
    EXPECT_EQ(manifest.members[1].path, "index.json");
    EXPECT_EQ("sha256:" + manifest.members[2].hex, app["digest"]) << "a document stands before what it names";
    ASSERT_EQ(manifest.images.size(), 1U);
    EXPECT_EQ(manifest.images[0].name, "r.io/app:v1");
    EXPECT_EQ(manifest.images[0].media_type, manifest_type);
    for (const Member& member : manifest.members) {
        const auto bytes = contents->open(member);
        ASSERT_TRUE(bytes) << bytes.error().message;
        EXPECT_EQ(bytes->offset, 0U);
        EXPECT_EQ(content::sha256_of_file(bytes->fd.get(), "member")->sha256, member.hex);
    }
    EXPECT_TRUE(parse_bundle_manifest(to_text(manifest), "x"));
    const auto index = parse_document(contents->texts.at(manifest.members[1].hex), "", "index.json");
    ASSERT_TRUE(index);
    EXPECT_EQ(index->content[0].names, (std::vector<std::string>{"r.io/app:v1", "r.io/app:v1"}));
}

TEST_F(Create, SaysWhichHostsNeedWhat) {
    const Json amd = image({"both", "amd"}, "amd config");
    const Json arm = image({"both", "arm"}, "arm config");
    const Json list = index({on(amd, "amd64"), on(arm, "arm64"), on(image({"s390x"}), "s390x")});
    layout({list});
    const auto contents = collected("Platforms=linux/amd64 linux/arm64\n");
    ASSERT_TRUE(contents) << contents.error().message;
    const auto found = hosts(*contents);
    const std::vector<std::string> both{"linux/amd64", "linux/arm64"};
    EXPECT_EQ(found.at(content::sha256("both")), both);
    EXPECT_EQ(found.at(content::sha256("amd")), std::vector<std::string>{"linux/amd64"});
    EXPECT_EQ(found.at(content::sha256("arm config")), std::vector<std::string>{"linux/arm64"});
    EXPECT_EQ(found.at(list["digest"].get<std::string>().substr(7)), std::vector<std::string>{}) << "for all";
    EXPECT_EQ(found.count(content::sha256("s390x")), 0U);
    EXPECT_EQ(contents->manifest.images[0].platforms, both);
}

TEST_F(Create, ChoosesByNameOrDigest) {
    Json first = image({"first"});
    Json second = image({"second"});
    first["annotations"] = {{"org.opencontainers.image.ref.name", "v1"}};
    layout({first, second});
    EXPECT_EQ(collected().error().code, Errc::InvalidArgument) << "which?";
    EXPECT_EQ("sha256:" + collected("Reference=v1\n")->manifest.images[0].hex, first["digest"]);
    EXPECT_EQ("sha256:" +
                  collected("Reference=" + second["digest"].get<std::string>())->manifest.images[0].hex,
              second["digest"]);
    EXPECT_EQ(collected("Reference=v2\n").error().code, Errc::NotFound);
}

class CreateReferrers : public Create {
  protected:
    /// A manifest that is about `subject`.
    Json about(const Json& subject, const std::string& layer, Json annotations = {}) const {
        Json manifest{{"schemaVersion", 2},
                      {"artifactType", "application/example"},
                      {"config", blob("{}", "application/vnd.oci.empty.v1+json")},
                      {"layers", {blob(layer, "layer")}},
                      {"subject", subject}};
        if (!annotations.is_null())
            manifest["annotations"] = std::move(annotations);
        return blob(base::dump(manifest), manifest_type);
    }
    static Json named(Json descriptor, const std::string& name) {
        descriptor["annotations"] = {{"org.opencontainers.image.ref.name", name}};
        return descriptor;
    }
    static std::string hex_of(const Json& descriptor) {
        return descriptor["digest"].get<std::string>().substr(7);
    }
};

TEST_F(CreateReferrers, GoAlongUnderNoName) {
    const Json app = image({"one"});
    const Json signature = about(app, "signature", {{"by", "us"}, {"long", std::string(5000, 'x')}});
    const Json of_the_signature = about(signature, "timestamp");
    const Json other = image({"other"});
    layout({of_the_signature, named(app, "v1"), signature, about(other, "signature of another"), other});
    const auto contents = collected("Reference=v1\n");
    ASSERT_TRUE(contents) << contents.error().message;
    const auto& images = contents->manifest.images;
    ASSERT_EQ(images.size(), 3U);
    EXPECT_EQ(images[0].name, "r.io/app:v1");
    EXPECT_EQ(images[0].subject, "");
    EXPECT_EQ(images[1].name, "");
    EXPECT_EQ(images[1].hex, hex_of(signature));
    EXPECT_EQ(images[1].subject, hex_of(app));
    EXPECT_EQ(images[1].artifact_type, "application/example");
    EXPECT_EQ(images[1].annotations, (std::map<std::string, std::string>{{"by", "us"}})) << "what fits";
    EXPECT_EQ(images[2].hex, hex_of(of_the_signature));
    const auto found = hosts(*contents);
    EXPECT_EQ(found.count(content::sha256("signature")), 1U);
    EXPECT_EQ(found.count(content::sha256("timestamp")), 1U);
    EXPECT_EQ(found.count(content::sha256("signature of another")), 0U);
    EXPECT_TRUE(parse_bundle_manifest(to_text(contents->manifest), "x"));
    const auto index =
        parse_document(contents->texts.at(contents->manifest.members[1].hex), "", "index.json");
    ASSERT_TRUE(index);
    EXPECT_TRUE(index->content[1].names.empty());
    EXPECT_EQ(index->content[1].artifact_type, "application/example");
}

TEST_F(CreateReferrers, AreFoundByTheirTag) {
    const Json app = image({"one"});
    const Json signature = about(app, "signature");
    layout({app, named(index({signature}), "sha256-" + hex_of(app))});
    const auto contents = collected("Reference=" + app["digest"].get<std::string>() + "\n");
    ASSERT_TRUE(contents) << contents.error().message;
    ASSERT_EQ(contents->manifest.images.size(), 2U);
    EXPECT_EQ(contents->manifest.images[1].hex, hex_of(signature));
}

TEST_F(CreateReferrers, GoWhereTheirSubjectGoes) {
    const Json arm = image({"arm"}, "arm config");
    const Json list = index({on(image({"amd"}, "amd config"), "amd64"), on(arm, "arm64")});
    const Json signature = about(list, "of the list");
    layout({list, about(arm, "of arm"), signature});
    const auto contents = collected("Reference=" + list["digest"].get<std::string>() + "\n");
    ASSERT_TRUE(contents) << contents.error().message;
    const auto found = hosts(*contents);
    EXPECT_EQ(found.at(content::sha256("of arm")), std::vector<std::string>{"linux/arm64"});
    EXPECT_EQ(found.at(content::sha256("of the list")), std::vector<std::string>{}) << "for all";
}

TEST_F(CreateReferrers, AreTakenOnceForTwoNames) {
    const Json app = image({"one"});
    layout({named(app, "v1"), about(app, "signature")});
    const auto contents = collected("Reference=v1\n[Image r.io/app:v2]\nLayout=app\nReference=v1\n");
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->manifest.images.size(), 3U);
}

TEST_F(Create, LeavesOutLayersThatMayNotBePassedOn) {
    Json manifest{{"schemaVersion", 2}, {"config", blob("{}", "config")}, {"layers", Json::array()}};
    manifest["layers"].push_back({{"mediaType", "foreign"},
                                  {"digest", "sha256:" + std::string(64, 'a')},
                                  {"size", 5},
                                  {"urls", {"https://elsewhere.example/layer"}}});
    layout({blob(base::dump(manifest), manifest_type)});
    const auto contents = collected();
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->manifest.members.size(), 4U);
}

TEST_F(Create, RefusesWhatIsMissingOrDamaged) {
    const Json app = image({"one"});
    layout({app});
    ASSERT_TRUE(collected());
    const std::string layer = "app/blobs/sha256/" + content::sha256("one");
    directory_.write(layer, "longer than one");
    EXPECT_EQ(collected().error().code, Errc::BadContent);
    ASSERT_TRUE(directory_.root().remove("/" + layer));
    EXPECT_EQ(collected().error().code, Errc::NotFound);
    directory_.write(layer, "one");
    const std::string document = "app/blobs/sha256/" + app["digest"].get<std::string>().substr(7);
    std::string text = directory_.read(document);
    text[2] = 'X';
    directory_.write(document, text);
    const auto damaged = collected();
    ASSERT_FALSE(damaged);
    EXPECT_NE(damaged.error().message.find("is damaged"), std::string::npos) << damaged.error().message;
    EXPECT_EQ(damaged.error().message.find("site.spec:5: layout 'app': "), 0U) << damaged.error().message;
    directory_.write("app/oci-layout", R"({"imageLayoutVersion":"2"})");
    EXPECT_EQ(collected().error().code, Errc::Unsupported);
}

TEST_F(Create, StaysInsideALayout) {
    directory_.write("secret", "secret");
    const std::string hex = content::sha256("secret");
    ASSERT_TRUE(directory_.root().make_directories("/app/blobs/sha256"));
    ASSERT_TRUE(directory_.root().symlink_atomic("../../../secret", "/app/blobs/sha256/" + hex));
    Json manifest{{"schemaVersion", 2}, {"config", blob("{}", "config")}, {"layers", Json::array()}};
    manifest["layers"].push_back({{"mediaType", "layer"}, {"digest", "sha256:" + hex}, {"size", 6}});
    layout({blob(base::dump(manifest), manifest_type)});
    EXPECT_FALSE(collected());
}

TEST_F(Create, IndexesDoNotNestForEver) {
    Json inner = image({"one"});
    for (int i = 0; i < 8; ++i)
        inner = index({inner});
    layout({inner});
    EXPECT_TRUE(collected());
    layout({index({index({inner})})});
    EXPECT_NE(collected().error().message.find("nested too deeply"), std::string::npos);
}

} // namespace
} // namespace gpuhost::images
