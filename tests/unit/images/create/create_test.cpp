// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/oci.hpp"
#include "images/create/create.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/docker_archives.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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
        return collect(spec, {directory_.path(), directory_.path(), 5});
    }
    [[nodiscard]] base::Result<Contents> made_of(const std::string& sections) const {
        GPUHOST_TRY(spec, parse_bundle_spec("[Bundle]\nName=site\n" + sections, "site.spec"));
        return collect(spec, {directory_.path(), directory_.path(), 5});
    }
    [[nodiscard]] static std::string content_of(const Contents& contents, const Member& member) {
        const auto read = contents.open(member);
        std::string content(member.size, '\0');
        EXPECT_TRUE(read && (*read)(content) == member.size) << member.place();
        return content;
    }
    [[nodiscard]] static std::vector<std::string> names(const Contents& contents) {
        std::vector<std::string> found;
        for (const BundleImage& one : contents.manifest.images)
            found.push_back(one.name);
        return found;
    }
    /// Expects a refusal of the sections with this error.
    void expect_refused(const std::string& sections, Errc code, const std::string& reason) const {
        const auto contents = made_of(sections);
        ASSERT_FALSE(contents) << "expected: " << reason;
        EXPECT_EQ(contents.error().code, code) << contents.error().message;
        EXPECT_EQ(contents.error().message.find("site.spec"), 0U) << contents.error().message;
        EXPECT_NE(contents.error().message.find(reason), std::string::npos) << contents.error().message;
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

TEST_F(Create, AddsEverythingThatAnImageNames) {
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
    EXPECT_EQ("sha256:" + manifest.members[2].hex, app["digest"])
        << "a document precedes the blobs that it names";
    ASSERT_EQ(manifest.images.size(), 1U);
    EXPECT_EQ(manifest.images[0].name, "r.io/app:v1");
    EXPECT_EQ(manifest.images[0].media_type, manifest_type);
    for (const Member& member : manifest.members) {
        EXPECT_EQ(content::sha256(content_of(*contents, member)), member.hex);
    }
    EXPECT_TRUE(parse_bundle_manifest(to_text(manifest), "x"));
    const auto index = parse_document(content_of(*contents, manifest.members[1]), "", "index.json");
    ASSERT_TRUE(index);
    EXPECT_EQ(index->content[0].names, (std::vector<std::string>{"r.io/app:v1", "r.io/app:v1"}));
}

TEST_F(Create, MembersNameTheHostsThatNeedThem) {
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
    EXPECT_EQ(found.at(list["digest"].get<std::string>().substr(7)), std::vector<std::string>{})
        << "all hosts";
    EXPECT_EQ(found.count(content::sha256("s390x")), 0U);
    EXPECT_EQ(contents->manifest.images[0].platforms, both);
}

TEST_F(Create, PlatformIsReadFromConfigWithoutAnIndex) {
    const std::string config = R"({"os":"linux","architecture":"arm64","variant":"v8"})";
    const Json manifest{{"schemaVersion", 2},
                        {"config", blob(config, "application/vnd.oci.image.config.v1+json")},
                        {"layers", Json::array({blob("layer", "layer")})}};
    layout({blob(base::dump(manifest), manifest_type)});
    const auto contents = collected();
    ASSERT_TRUE(contents) << contents.error().message;
    const std::vector<std::string> arm{"linux/arm64/v8"};
    EXPECT_EQ(contents->manifest.images[0].platforms, arm);
    EXPECT_EQ(hosts(*contents).at(content::sha256("layer")), arm);
    EXPECT_TRUE(collected("Platforms=linux/arm64\n"));
    const auto other = collected("Platforms=linux/amd64\n");
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().message.find("has nothing for platform 'linux/amd64'"), std::string::npos);
}

TEST_F(Create, ChoosesByNameOrDigest) {
    Json first = image({"first"});
    Json second = image({"second"});
    first["annotations"] = {{"org.opencontainers.image.ref.name", "v1"}};
    layout({first, second});
    EXPECT_EQ(collected().error().code, Errc::InvalidArgument) << "ambiguous";
    EXPECT_EQ("sha256:" + collected("Reference=v1\n")->manifest.images[0].hex, first["digest"]);
    EXPECT_EQ("sha256:" +
                  collected("Reference=" + second["digest"].get<std::string>())->manifest.images[0].hex,
              second["digest"]);
    EXPECT_EQ(collected("Reference=v2\n").error().code, Errc::NotFound);
}

class CreateReferrers : public Create {
  protected:
    /// Returns a manifest with this `subject`.
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

TEST_F(CreateReferrers, AreAddedWithoutAName) {
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
    EXPECT_EQ(images[1].annotations, (std::map<std::string, std::string>{{"by", "us"}}))
        << "the annotations that fit";
    EXPECT_EQ(images[2].hex, hex_of(of_the_signature));
    const auto found = hosts(*contents);
    EXPECT_EQ(found.count(content::sha256("signature")), 1U);
    EXPECT_EQ(found.count(content::sha256("timestamp")), 1U);
    EXPECT_EQ(found.count(content::sha256("signature of another")), 0U);
    EXPECT_TRUE(parse_bundle_manifest(to_text(contents->manifest), "x"));
    const auto index = parse_document(content_of(*contents, contents->manifest.members[1]), "", "index.json");
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

TEST_F(CreateReferrers, ReferrersOfAnIndexAreForAllHosts) {
    const Json list = index({on(image({"one"}), "amd64")});
    const std::string config = R"({"os":"linux","architecture":"amd64"})";
    const Json report{{"schemaVersion", 2},
                      {"config", blob(config, "application/vnd.oci.image.config.v1+json")},
                      {"layers", {blob("report", "layer")}},
                      {"subject", list}};
    layout({list, blob(base::dump(report), manifest_type)});
    const auto contents = collected("Reference=" + list["digest"].get<std::string>() + "\n");
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(hosts(*contents).at(content::sha256("report")), std::vector<std::string>{});
}

TEST_F(CreateReferrers, HaveTheHostsOfTheirSubject) {
    const Json arm = image({"arm"}, "arm config");
    const Json list = index({on(image({"amd"}, "amd config"), "amd64"), on(arm, "arm64")});
    const Json signature = about(list, "of the list");
    layout({list, about(arm, "of arm"), signature});
    const auto contents = collected("Reference=" + list["digest"].get<std::string>() + "\n");
    ASSERT_TRUE(contents) << contents.error().message;
    const auto found = hosts(*contents);
    EXPECT_EQ(found.at(content::sha256("of arm")), std::vector<std::string>{"linux/arm64"});
    EXPECT_EQ(found.at(content::sha256("of the list")), std::vector<std::string>{}) << "all hosts";
}

TEST_F(CreateReferrers, KeepTheOrderOfTheLayout) {
    const Json app = image({"one"}, "config");
    const Json list = index({on(app, "amd64")});
    const Json of_app = about(app, "of the app");
    const Json of_list = about(list, "of the list");
    layout({about(of_list, "of a signature"), of_app, list, of_list});
    const auto contents = collected("Reference=" + list["digest"].get<std::string>() + "\n");
    ASSERT_TRUE(contents) << contents.error().message;
    ASSERT_EQ(contents->manifest.images.size(), 4U);
    EXPECT_EQ(contents->manifest.images[1].hex, hex_of(of_app)) << "although its subject is visited later";
    EXPECT_EQ(contents->manifest.images[2].hex, hex_of(of_list));
    EXPECT_EQ(contents->manifest.images[3].subject, hex_of(of_list));
}

TEST_F(CreateReferrers, AreAddedOnceForTwoNames) {
    const Json app = image({"one"});
    layout({named(app, "v1"), about(app, "signature")});
    const auto contents = collected("Reference=v1\n[Image r.io/app:v2]\nLayout=app\nReference=v1\n");
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->manifest.images.size(), 3U);
}

TEST_F(Create, ForeignLayersAreOmitted) {
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

TEST_F(Create, MissingOrDamagedBlobsAreRefused) {
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
    EXPECT_NE(damaged.error().message.find("digest mismatch"), std::string::npos) << damaged.error().message;
    EXPECT_EQ(damaged.error().message.find("site.spec:4: layout 'app': "), 0U) << damaged.error().message;
    directory_.write("app/oci-layout", R"({"imageLayoutVersion":"2"})");
    EXPECT_EQ(collected().error().code, Errc::Unsupported);
}

TEST_F(Create, LinksOutsideALayoutAreRefused) {
    directory_.write("secret", "secret");
    const std::string hex = content::sha256("secret");
    ASSERT_TRUE(directory_.root().make_directories("/app/blobs/sha256"));
    ASSERT_TRUE(directory_.root().symlink_atomic("../../../secret", "/app/blobs/sha256/" + hex));
    Json manifest{{"schemaVersion", 2}, {"config", blob("{}", "config")}, {"layers", Json::array()}};
    manifest["layers"].push_back({{"mediaType", "layer"}, {"digest", "sha256:" + hex}, {"size", 6}});
    layout({blob(base::dump(manifest), manifest_type)});
    EXPECT_FALSE(collected());
}

TEST_F(Create, TooDeeplyNestedIndexesAreRefused) {
    Json inner = image({"one"});
    for (int i = 0; i < 8; ++i)
        inner = index({inner});
    layout({inner});
    EXPECT_TRUE(collected());
    layout({index({index({inner})})});
    EXPECT_NE(collected().error().message.find("nested too deeply"), std::string::npos);
}

// --- archives

TEST_F(Create, AddsAnImageOfAnArchive) {
    directory_.write("app.tar", tests::two_layer_archive().tar(tests::Packing::Zstd));
    const auto contents = made_of("[Image r.io/mine:v2]\nArchive=app.tar\n");
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(names(*contents), std::vector<std::string>{"r.io/mine:v2"});
    EXPECT_EQ(contents->manifest.images[0].platforms, std::vector<std::string>{"linux/arm64/v8"});
    ASSERT_EQ(contents->manifest.members.size(), 6U)
        << "oci-layout, index.json, manifest, config, two layers: nothing else of the archive";
    for (const Member& member : contents->manifest.members) {
        EXPECT_EQ(content::sha256(content_of(*contents, member)), member.hex);
    }
    EXPECT_EQ(directory_.root().list("/").value(), (std::vector<std::string>{"app", "app.tar"}))
        << "unpacked files have no names";
}

TEST_F(Create, SameInputGivesTheSameBundle) {
    directory_.write("app.tar", tests::two_layer_archive().tar());
    const std::string section = "[Images]\nArchive=app.tar\n";
    EXPECT_EQ(to_text(made_of(section)->manifest), to_text(made_of(section)->manifest));
    tests::DockerArchive reversed = tests::two_layer_archive();
    std::reverse(reversed.members.begin(), reversed.members.end());
    const std::string before = to_text(made_of(section)->manifest);
    directory_.write("app.tar", reversed.tar(tests::Packing::Gzip));
    EXPECT_EQ(to_text(made_of(section)->manifest), before)
        << "the order and compression of the archive do not matter";
}

TEST_F(Create, AddsAllImagesWithTheirOwnNames) {
    directory_.write("app.tar", tests::two_layer_archive().tar());
    Json named = image({"one"});
    named["annotations"] = {{"io.containerd.image.name", "r.io/of-a-layout"}};
    layout(
        {named, {{"mediaType", "application/x"}, {"digest", "sha256:" + std::string(64, 'a')}, {"size", 1}}});
    const auto contents =
        made_of("[Images]\nArchive=app.tar\n\n[Images]\nLayout=app\n[Images]\nArchive=./app.tar\n");
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(names(*contents),
              (std::vector<std::string>{"docker.io/library/app:v1", "registry.example:5000/team/app:v1",
                                        "r.io/of-a-layout:latest"}));
}

TEST_F(Create, ImageWithoutAFullNameIsRefused) {
    Json tagged = image({"one"});
    tagged["annotations"] = {{"org.opencontainers.image.ref.name", "v1"}};
    layout({tagged});
    expect_refused("[Images]\nLayout=app\n", Errc::InvalidArgument, "has no full name, only 'v1'");
    layout({image({"one"})});
    expect_refused("[Images]\nLayout=app\n", Errc::InvalidArgument, "has no full name");
    layout({});
    expect_refused("[Images]\nLayout=app\n", Errc::NotFound, "layout 'app': has no images");
}

TEST_F(Create, SameNameForTwoImagesIsRefused) {
    directory_.write("app.tar", tests::two_layer_archive().tar());
    tests::DockerArchive other = tests::two_layer_archive();
    other.members[6].content += " ";
    directory_.write("other.tar", other.tar());
    expect_refused("[Images]\nArchive=app.tar\n[Images]\nArchive=other.tar\n", Errc::InvalidArgument,
                   "'docker.io/library/app:v1' occurs twice with different content");
    other.manifest[0]["RepoTags"] = {"app:v2"};
    directory_.write("other.tar", other.tar());
    EXPECT_TRUE(made_of("[Images]\nArchive=app.tar\n[Images]\nArchive=other.tar\n"));
}

TEST_F(Create, FindsAnImageByNameAmongSeveral) {
    tests::DockerArchive archive = tests::two_layer_archive();
    archive.members.push_back({"empty.json", tests::docker_config({})});
    archive.name("empty.json", {}, Json::array({"empty:v1"}));
    directory_.write("all.tar", archive.tar());
    EXPECT_EQ(made_of("[Image empty:v1]\nArchive=all.tar\n")->manifest.members.size(), 4U)
        << "by the name of the section";
    EXPECT_EQ(made_of("[Image x:v1]\nArchive=all.tar\nReference=empty:v1\n")->manifest.members.size(), 4U);
    EXPECT_EQ(made_of("[Image x:v1]\nArchive=all.tar\nReference=docker.io/library/app:v1\n")
                  ->manifest.members.size(),
              6U);
    expect_refused("[Image x:v1]\nArchive=all.tar\n", Errc::InvalidArgument,
                   "has 2 images, but not 'docker.io/library/x:v1'");
    expect_refused("[Image x:v1]\nArchive=all.tar\nReference=v1\n", Errc::NotFound, "has no image 'v1'");
}

TEST_F(Create, AmbiguousNameIsRefused) {
    Json first = image({"first"});
    Json second = image({"second"});
    first["annotations"] = second["annotations"] = {{"org.opencontainers.image.ref.name", "v1"}};
    layout({first, second});
    expect_refused("[Image r.io/app:v1]\nLayout=app\nReference=v1\n", Errc::InvalidArgument,
                   "has 2 images 'v1'");
}

TEST_F(Create, ErrorsNameTheArchive) {
    directory_.write("app.tar", "no archive");
    expect_refused("[Images]\nArchive=app.tar\n", Errc::BadContent, "site.spec:3: archive 'app.tar': ");
    expect_refused("[Images]\nArchive=none.tar\n", Errc::NotFound, "site.spec:3: archive 'none.tar': ");
    expect_refused("[Images]\nArchive=app\n", Errc::InvalidArgument, "archive 'app': not a regular file");
}

TEST_F(Create, SectionNeedsOneLayoutOrArchive) {
    expect_refused("[Image r.io/app:v1]\n", Errc::InvalidArgument,
                   "site.spec:3: image 'r.io/app:v1' has no Layout=");
    expect_refused("[Images]\n", Errc::InvalidArgument, "site.spec:3: [Images] has no Layout=");
    expect_refused("[Images]\nLayout=a\nArchive=b\n", Errc::InvalidArgument, "both Layout= and Archive=");
    expect_refused("[Images]\nLayout=a\nReference=v1\n", Errc::InvalidArgument, "unknown key 'Reference'");
    expect_refused("[Image a]\nLayout=a\n[Image a:latest]\nLayout=b\n", Errc::InvalidArgument,
                   "has two sections");
    expect_refused("[Imagine]\n", Errc::InvalidArgument, "site.spec:3: unknown section [Imagine]");
}

TEST_F(Create, PipeInALayoutIsRefusedWithoutBlocking) {
    const Json app = image({"one"});
    layout({app});
    const std::string layer = directory_.path("app/blobs/sha256/" + content::sha256("one"));
    ASSERT_EQ(::unlink(layer.c_str()), 0);
    ASSERT_EQ(::mkfifo(layer.c_str(), 0644), 0);
    EXPECT_EQ(collected().error().code, Errc::BadContent);
}

} // namespace
} // namespace gpuhost::images
