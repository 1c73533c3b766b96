// SPDX-License-Identifier: Apache-2.0
#include "images/foreign/docker_v1.hpp"
#include "tests/unit/images/foreign.hpp"

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Json;
using tests::DockerV1Archive;
using tests::Member;
using tests::Packing;
using tests::tar_of;

const std::string nothing(1024, '\0');

std::string layer_tar(const std::string& content) {
    return tar_of({{"etc/motd", content}});
}

/// Returns a base, a step that changed no file, and a top layer with two names.
DockerV1Archive three_step_archive() {
    DockerV1Archive archive;
    const std::string base =
        archive.layer(layer_tar("base"), {{"created", "2014-10-13T21:19:18.674353812Z"},
                                          {"author", "somebody"},
                                          {"container_config", {{"Cmd", {"/bin/sh", "-c", "#(nop) ADD"}}}},
                                          {"os", "plan9"}});
    const std::string step =
        archive.layer(nothing, {{"container_config", {{"Cmd", nullptr}}}, {"comment", "a step"}}, base);
    const std::string top = archive.layer(layer_tar("top"),
                                          {{"created", "2014-10-14T00:00:00Z"},
                                           {"os", "linux"},
                                           {"architecture", "arm64"},
                                           {"config", {{"Env", {"A=b"}}, {"Memory", 2048}}},
                                           {"docker_version", "1.6.0"},
                                           {"checksum", "tarsum.v1+sha256:0"},
                                           {"Size", 10}},
                                          step);
    archive.repositories = {{"app", {{"v1", top}}}, {"registry.example:5000/team/app", {{"v1", top}}}};
    return archive;
}

class ForeignDockerV1 : public Foreign {
  protected:
    /// Returns the image's manifest. Its configuration is the first blob that it names.
    [[nodiscard]] Document manifest_of(const Document& index, std::size_t place = 0) const {
        return parse_document(blob(index.content.at(place).hex), manifest_type, "manifest")
            .value_or(Document());
    }
    [[nodiscard]] Json config_of(const Document& index, std::size_t place = 0) const {
        return base::parse_json(blob(manifest_of(index, place).content.at(0).hex), "configuration").value();
    }
    /// Returns the configuration of an image with this single layer.
    [[nodiscard]] Json config_of_layer(const std::string& tar, const Json& description = Json::object()) {
        DockerV1Archive archive;
        archive.repositories = {{"app", {{"v1", archive.layer(tar, description)}}}};
        const auto index = read(archive.tar());
        EXPECT_TRUE(index) << index.error().message;
        return index ? config_of(*index) : Json();
    }
};

TEST_F(ForeignDockerV1, ImageGetsAGeneratedConfiguration) {
    const auto index = read(three_step_archive().tar(Packing::Gzip));
    ASSERT_TRUE(index) << index.error().message;
    ASSERT_EQ(index->content.size(), 2U) << "one for each name";
    EXPECT_EQ(index->content[0].names, std::vector<std::string>{"docker.io/library/app:v1"});
    EXPECT_EQ(index->content[1].names, std::vector<std::string>{"registry.example:5000/team/app:v1"});
    EXPECT_EQ(index->content[0].hex, index->content[1].hex);
    const Document manifest = manifest_of(*index);
    ASSERT_EQ(manifest.content.size(), 3U) << "a configuration and two layers";
    EXPECT_EQ(blob(manifest.content[1].hex), layer_tar("base"));
    EXPECT_EQ(blob(manifest.content[2].hex), layer_tar("top"));
    const Json unpacked{"sha256:" + content::sha256(layer_tar("base")),
                        "sha256:" + content::sha256(layer_tar("top"))};
    EXPECT_EQ(config_of(*index), (Json{{"os", "linux"},
                                       {"architecture", "arm64"},
                                       {"created", "2014-10-14T00:00:00Z"},
                                       {"config", {{"Env", {"A=b"}}, {"Memory", 2048}}},
                                       {"rootfs", {{"type", "layers"}, {"diff_ids", unpacked}}},
                                       {"history",
                                        {{{"created", "2014-10-13T21:19:18.674353812Z"},
                                          {"author", "somebody"},
                                          {"created_by", "/bin/sh -c #(nop) ADD"}},
                                         {{"comment", "a step"}, {"empty_layer", true}},
                                         {{"created", "2014-10-14T00:00:00Z"}}}}}));
}

TEST_F(ForeignDockerV1, SameImageHasTheSameDigest) {
    // Hosts and bundles identify the image by this digest, so a release must not change it.
    const std::string digest = "f660b37c6dfed171ccf727e979564a8c51198f4158171821dece491d3f1300ed";
    DockerV1Archive archive = three_step_archive();
    EXPECT_EQ(read(archive.tar())->content[0].hex, digest);
    std::reverse(archive.members.begin(), archive.members.end());
    EXPECT_EQ(read(archive.tar(Packing::Zstd))->content[0].hex, digest);
}

TEST_F(ForeignDockerV1, ImagesShareTheirLayers) {
    DockerV1Archive archive = three_step_archive();
    const std::string base = archive.members[0].path.substr(0, 64);
    archive.repositories["other"] = {{"v2", archive.layer(layer_tar("other"), {}, base)}};
    archive.repositories["base"] = {{"v1", base}};
    const auto index = read(archive.tar());
    ASSERT_TRUE(index) << index.error().message;
    std::map<std::string, std::size_t> layers;
    for (std::size_t i = 0; i < index->content.size(); ++i)
        layers[own_name(index->content[i])] = manifest_of(*index, i).content.size() - 1;
    EXPECT_EQ(layers, (std::map<std::string, std::size_t>{{"docker.io/library/app:v1", 2},
                                                          {"docker.io/library/base:v1", 1},
                                                          {"docker.io/library/other:v2", 2},
                                                          {"registry.example:5000/team/app:v1", 2}}));
}

TEST_F(ForeignDockerV1, LayerMayBeALinkToAnother) {
    DockerV1Archive archive = three_step_archive();
    Member& top = archive.members[8];
    top.type = Member::Type::Link;
    top.target = "../" + archive.members[2].path;
    const auto index = read(archive.tar());
    ASSERT_TRUE(index) << index.error().message;
    const Document manifest = manifest_of(*index);
    EXPECT_EQ(manifest.content.at(1).hex, manifest.content.at(2).hex);
    top.target = "../../kept";
    expect_refused(archive.tar(), "has no file '" + top.path + "'");
}

TEST_F(ForeignDockerV1, CompressedLayersAreAccepted) {
    const std::string layer = layer_tar("hello");
    for (const auto& [packing, type] :
         {std::pair(Packing::None, ""), {Packing::Gzip, "+gzip"}, {Packing::Zstd, "+zstd"}}) {
        DockerV1Archive archive;
        archive.repositories = {{"app", {{"v1", archive.layer(tests::packed(layer, packing))}}}};
        const auto index = read(archive.tar());
        ASSERT_TRUE(index) << index.error().message;
        EXPECT_EQ(layer_types(*index),
                  std::vector<std::string>{std::string("application/vnd.oci.image.layer.v1.tar") + type});
        EXPECT_EQ(config_of(*index)["rootfs"]["diff_ids"], Json{"sha256:" + content::sha256(layer)});
    }
    for (const std::string& bytes :
         {tests::packed(layer, Packing::Xz), std::string("no tar"), layer.substr(0, 200)}) {
        DockerV1Archive archive;
        archive.repositories = {{"app", {{"v1", archive.layer(bytes)}}}};
        expect_refused(archive.tar(), "is neither a tar nor a tar compressed");
    }
}

TEST_F(ForeignDockerV1, EmptyLayersAreOmitted) {
    for (const std::size_t size : {0, 512, 1024, 10240}) {
        const Json config = config_of_layer(std::string(size, '\0'));
        EXPECT_EQ(config["rootfs"]["diff_ids"], Json::array()) << size;
        EXPECT_EQ(config["history"], (Json{{{"empty_layer", true}}})) << size;
    }
}

TEST_F(ForeignDockerV1, WithoutPlatformItIsLinuxAmd64) {
    const Json config = config_of_layer(layer_tar("x"), {{"os", ""}});
    EXPECT_EQ(platform_of(config), "linux/amd64");
    EXPECT_FALSE(config.contains("config"));
    EXPECT_FALSE(config.contains("created"));
}

// --- archives that Docker never wrote

TEST_F(ForeignDockerV1, InvalidAndCircularParentsAreRefused) {
    DockerV1Archive archive;
    const std::string layer = archive.layer(layer_tar("x"));
    archive.repositories = {{"app", {{"v1", layer}}}};
    for (const std::string& parent : {std::string("../kept"), std::string("base"), layer.substr(1),
                                      layer + "0", std::string(64, 'A'), std::string(63, '0') + "/"}) {
        archive.members[1].content = base::dump({{"parent", parent}});
        expect_refused(archive.tar(), "the name of a layer must be 64 hex digits");
    }
    archive.members[1].content = base::dump({{"parent", std::string(64, '0')}});
    expect_refused(archive.tar(), "has no file '" + std::string(64, '0') + "/json'");
    archive.members[1].content = base::dump({{"parent", layer}});
    expect_refused(archive.tar(), "form a cycle");
    for (const char* text : {"", "[]", "null", R"({"parent":7})"}) {
        archive.members[1].content = text;
        expect_refused(archive.tar(), "'" + layer + "/json'");
    }
    archive.members.erase(archive.members.begin() + 2);
    archive.members[1].content = "{}";
    expect_refused(archive.tar(), "has no file '" + layer + "/layer.tar'");
}

TEST_F(ForeignDockerV1, LayersAndTheirDescriptionsAreLimited) {
    DockerV1Archive archive;
    std::string top;
    for (unsigned i = 0; i < 1'000; ++i)
        top = archive.layer(layer_tar("x"), {}, top);
    archive.repositories = {{"app", {{"v1", top}}}};
    EXPECT_TRUE(read(archive.tar()));
    archive.repositories = {{"app", {{"v1", archive.layer(layer_tar("x"), {}, top)}}}};
    expect_refused(archive.tar(), "has more than 1000 layers");

    const Json half{{"checksum", std::string(document_limit / 2 - 300, 'x')}};
    archive = {};
    top = archive.layer(nothing, half, archive.layer(nothing, half));
    archive.repositories = {{"app", {{"v1", top}}}};
    EXPECT_TRUE(read(archive.tar()));
    archive.repositories = {{"app", {{"v1", archive.layer(nothing, half, top)}}}};
    expect_refused(archive.tar(), "larger than 4194304 bytes");
}

TEST_F(ForeignDockerV1, InvalidRepositoriesAreRefused) {
    const std::string top(64, 'a');
    for (const char* text :
         {"", "[]", "null", "7", R"({"app":"v1"})", R"({"app":["v1"]})", R"({"app":{"v1":7}})",
          R"({"app":{"":"x"}})", R"({"No Name":{"v1":"x"}})", R"({"app":{"no tag":"x"}})",
          R"({"app:v1":{"v2":"x"}})",
          R"({"app":{"b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":"x"}})"}) {
        const auto images = parse_docker_repositories(text);
        ASSERT_FALSE(images) << text;
        EXPECT_EQ(images.error().code, Errc::BadContent) << text << ": " << images.error().message;
        EXPECT_NE(images.error().message.find("'repositories'"), std::string::npos) << images.error().message;
    }
    EXPECT_TRUE(parse_docker_repositories("{}")->empty());
    Json tags = Json::object();
    for (unsigned i = 0; i < 10'000; ++i)
        tags["v" + std::to_string(i)] = top;
    EXPECT_EQ(parse_docker_repositories(base::dump({{"app", tags}}))->at(0).names.size(), 10'000U);
    EXPECT_FALSE(parse_docker_repositories(base::dump({{"app", tags}, {"one", {{"more", top}}}})));
    DockerV1Archive archive;
    for (const char* leads_nowhere : {"", "x"}) {
        archive.repositories = {{"app", {{"v1", leads_nowhere}}}};
        expect_refused(archive.tar(), "the name of a layer must be 64 hex digits");
    }
    expect_refused(tar_of({{"repositories", std::string(document_limit + 1, ' ')}}),
                   "is larger than 4194304 bytes");
}

} // namespace
} // namespace gpuhost::images
