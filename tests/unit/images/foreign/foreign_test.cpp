// SPDX-License-Identifier: Apache-2.0
#include "images/foreign/docker.hpp"
#include "images/foreign/foreign.hpp"
#include "tests/unit/images/foreign.hpp"

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Json;
using tests::DockerArchive;
using tests::Member;
using tests::Packing;
using tests::tar_of;
using tests::two_layer_archive;
using Type = Member::Type;

constexpr const char* layout_version = R"({"imageLayoutVersion":"1.0.0"})";

/// Returns an archive of one image with one layer.
DockerArchive one_layer_archive(const std::string& layer, const std::string& unpacked) {
    DockerArchive archive;
    archive.members = {{"layer.tar", layer}, {"config.json", tests::docker_config({unpacked})}};
    archive.name("config.json", {"layer.tar"}, Json::array({"app:v1"}));
    return archive;
}

/// Returns a layout in a tar, with these additional members.
std::string layout_tar(const std::vector<Json>& manifests, std::vector<Member> members = {}) {
    members.push_back({"./oci-layout", layout_version});
    members.push_back({"./index.json", base::dump({{"schemaVersion", 2}, {"manifests", manifests}})});
    return tar_of(members);
}

Json descriptor_of(const std::string& content) {
    return {{"mediaType", manifest_type},
            {"digest", "sha256:" + content::sha256(content)},
            {"size", content.size()},
            {"annotations", {{"io.containerd.image.name", "r.io/app:v1"}}}};
}

Member blob_member(const std::string& content) {
    return {"./blobs/sha256/" + content::sha256(content), content};
}

TEST_F(Foreign, ReadsDockerArchivesOfEveryCompression) {
    for (const Packing packing :
         {Packing::None, Packing::Gzip, Packing::Xz, Packing::Zstd, Packing::Bzip2, Packing::Lz4}) {
        const auto index = read(two_layer_archive().tar(packing));
        ASSERT_TRUE(index) << index.error().message;
        ASSERT_EQ(index->content.size(), 2U) << "one for each name";
        EXPECT_EQ(index->content[0].names, std::vector<std::string>{"docker.io/library/app:v1"});
        EXPECT_EQ(index->content[1].names, std::vector<std::string>{"registry.example:5000/team/app:v1"});
        EXPECT_EQ(index->content[0].hex, index->content[1].hex);
        EXPECT_EQ(index->content[0].media_type, manifest_type);
        const auto manifest = parse_document(blob(index->content[0].hex), manifest_type, "manifest");
        ASSERT_TRUE(manifest) << manifest.error().message;
        ASSERT_EQ(manifest->content.size(), 4U) << "a configuration and three layers";
        EXPECT_EQ(blob(manifest->content[0].hex), tests::docker_config({"base", "top", "base"}));
        EXPECT_EQ(blob(manifest->content[1].hex), "base");
        EXPECT_EQ(blob(manifest->content[2].hex), "top");
        EXPECT_EQ(manifest->content[3].hex, manifest->content[1].hex) << "resolved through the link";
    }
}

TEST_F(Foreign, SameImageHasTheSameDigest) {
    // Hosts and bundles identify the image by this digest, so a release must not change it.
    const std::string digest = "398def04e580c44b4de011b8a17cbc675299571449cdba033e86e85782f59c91";
    DockerArchive archive = two_layer_archive();
    EXPECT_EQ(read(archive.tar())->content[0].hex, digest);
    std::reverse(archive.members.begin(), archive.members.end());
    EXPECT_EQ(read(archive.tar(Packing::Zstd))->content[0].hex, digest);
}

TEST_F(Foreign, ReadsCompressedLayers) {
    for (const auto& [packing, type] :
         {std::pair(Packing::None, ""), {Packing::Gzip, "+gzip"}, {Packing::Zstd, "+zstd"}}) {
        const std::string layer = tar_of({{"etc/motd", "hello"}});
        const auto index = read(one_layer_archive(tests::packed(layer, packing), layer).tar());
        ASSERT_TRUE(index) << index.error().message;
        EXPECT_EQ(layer_types(*index),
                  std::vector<std::string>{std::string("application/vnd.oci.image.layer.v1.tar") + type});
    }
    const std::string layer = tar_of({{"etc/motd", "hello"}});
    expect_refused(one_layer_archive(tests::packed(layer, Packing::Xz), layer).tar(),
                   "does not match its digest");
}

TEST_F(Foreign, LayersMustMatchTheConfiguration) {
    expect_refused(one_layer_archive("this", "that").tar(), "'layer.tar' does not match its digest");
    expect_refused(one_layer_archive(tests::packed("this", Packing::Gzip), "that").tar(),
                   "does not match its digest");
    DockerArchive archive = two_layer_archive();
    archive.manifest[0]["Layers"].erase(2);
    expect_refused(archive.tar(), "2 layers, but its configuration has 3");
    archive.manifest[0]["Layers"] = {"222/layer.tar", "111/layer.tar", "333/layer.tar"};
    expect_refused(archive.tar(), "'222/layer.tar' does not match its digest");
}

TEST_F(Foreign, ImageWithoutNameAndLayersIsRead) {
    DockerArchive archive;
    archive.members = {{"config.json", tests::docker_config({})}};
    archive.manifest.push_back({{"Config", "config.json"}, {"RepoTags", nullptr}, {"Layers", nullptr}});
    const auto index = read(archive.tar());
    ASSERT_TRUE(index) << index.error().message;
    ASSERT_EQ(index->content.size(), 1U);
    EXPECT_TRUE(index->content[0].names.empty());
    EXPECT_EQ(own_name(index->content[0]), "");
}

TEST_F(Foreign, ReadsLayoutInATar) {
    const auto index =
        read(layout_tar({descriptor_of("app")}, {blob_member("app"), {"notes.txt", "for people"}}));
    ASSERT_TRUE(index) << index.error().message;
    ASSERT_EQ(index->content.size(), 1U);
    EXPECT_EQ(own_name(index->content[0]), "r.io/app:v1");
    EXPECT_EQ(blob(index->content[0].hex), "app");
}

TEST_F(Foreign, LayoutPrecedesDockerManifest) {
    DockerArchive archive = two_layer_archive();
    archive.members.push_back({"oci-layout", layout_version});
    archive.members.push_back(
        {"index.json", base::dump({{"schemaVersion", 2}, {"manifests", {descriptor_of("app")}}})});
    archive.members.push_back(blob_member("app"));
    const auto index = read(archive.tar());
    ASSERT_TRUE(index) << index.error().message;
    ASSERT_EQ(index->content.size(), 1U);
    EXPECT_EQ(index->content[0].hex, content::sha256("app"));
}

TEST_F(Foreign, TopmostLayoutCountsAndTiesAreRefused) {
    const auto layout = [](const std::string& directory, const std::string& image) {
        const Member blob = blob_member(image);
        return std::vector<Member>{
            {directory + "oci-layout", layout_version},
            {directory + "index.json",
             base::dump({{"schemaVersion", 2}, {"manifests", {descriptor_of(image)}}})},
            {directory + blob.path, blob.content}};
    };
    const auto together = [&](const std::string& one, const std::string& other) {
        auto members = layout(one, "first");
        for (const Member& member : layout(other, "second"))
            members.push_back(member);
        return tar_of(members);
    };
    const auto index = read(together("a/", ""));
    ASSERT_TRUE(index) << index.error().message;
    EXPECT_EQ(index->content[0].hex, content::sha256("second"));
    DockerArchive archive = two_layer_archive();
    for (const Member& member : layout("a/", "below"))
        archive.members.push_back(member);
    EXPECT_EQ(read(archive.tar())->content[0].names, std::vector<std::string>{"docker.io/library/app:v1"});
    expect_refused(together("a/", "b/"), "has 2 image layouts, in 'a/', 'b/'", Errc::Unsupported);
    expect_refused(tar_of({{"a/oci-layout", layout_version}, {"index.json", "{}"}}),
                   "without 'a/index.json'");
    auto damaged = layout("a/", "one");
    damaged.back().content = "other";
    expect_refused(tar_of(damaged), "digest mismatch");
}

TEST_F(Foreign, OtherArchivesAreRefused) {
    expect_refused(tar_of({{"etc/motd", "hello"}}), "'oci-layout' and 'manifest.json' not found");
    expect_refused(tar_of({{"repositories", R"({"app":{"v1":"x"}})"}}), "is an archive of Docker before 1.10",
                   Errc::Unsupported);
    expect_refused(tar_of({{"oci-layout", R"({"imageLayoutVersion":"2.0.0"})"}, {"index.json", "{}"}}),
                   "version 1.0.0", Errc::Unsupported);
    expect_refused(tar_of({{"oci-layout", layout_version}}), "without 'index.json'");
}

TEST_F(Foreign, NamesEqualContainerds) {
    const auto named = [](std::vector<std::string> names) {
        Descriptor image;
        image.names = std::move(names);
        return own_name(image);
    };
    EXPECT_EQ(named({"docker.io/library/app:v1", "v1"}), "docker.io/library/app:v1");
    EXPECT_EQ(named({"v1"}), "") << "a tag is not a name, and no name is invented";
    EXPECT_EQ(named({"v1", "app:v1"}), "docker.io/library/app:v1");
    EXPECT_EQ(named({"r.io/app"}), "r.io/app:latest");
    EXPECT_EQ(named({"r.io/app@sha256:" + std::string(64, 'a')}), "") << "a digest is not a name";
    EXPECT_EQ(named({"No/Name:"}), "");
    DockerArchive archive = two_layer_archive();
    archive.manifest[0]["RepoTags"] = {"No Name"};
    expect_refused(archive.tar(), "No Name");
}

// --- known vulnerabilities of other importers

TEST_F(Foreign, MemberNamesOutsideAreRefused_CVE_2024_24579) {
    for (const char* name : {"../kept", "a/../../kept", "/etc/passwd"}) {
        DockerArchive archive = two_layer_archive();
        archive.members.push_back({name, "written"});
        expect_refused(archive.tar(), "points outside the archive");
    }
    DockerArchive archive = two_layer_archive();
    archive.members.push_back({"kept", "written", Type::File, "", 04777});
    EXPECT_TRUE(read(archive.tar())) << "the name of the member is not used";
}

TEST_F(Foreign, DigestsAsPathsAreRefused_CVE_2024_3727) {
    Json evil = descriptor_of("app");
    evil["digest"] = "sha256:../../../kept";
    expect_refused(layout_tar({evil}), "is not a sha256 digest");
    for (const char* path : {"../kept", "/etc/hostname", "", "."}) {
        DockerArchive archive = two_layer_archive();
        archive.manifest[0]["Config"] = path;
        expect_refused(archive.tar(), "has no file '" + std::string(path) + "'");
        archive.manifest[0]["Config"] = "config.json";
        archive.manifest[0]["Layers"][0] = path;
        expect_refused(archive.tar(), "has no file '" + std::string(path) + "'");
    }
}

TEST_F(Foreign, LinksOutsideAreRefused_GHSA_r3h2_rgqf_9hv9) {
    const std::string kept = directory_.path("kept");
    for (const std::string& target :
         {kept, std::string("../../../../../../../../etc/hostname"), std::string("../../kept")}) {
        DockerArchive archive = two_layer_archive();
        archive.members[5].target = target;
        expect_refused(archive.tar(), "has no file '333/layer.tar'");
    }
    DockerArchive archive = two_layer_archive();
    archive.members[5].target = "../444/layer.tar";
    archive.members.push_back({"444/layer.tar", "", Type::Link, "../111/layer.tar"});
    expect_refused(archive.tar(), "has no file '333/layer.tar'");
    archive.members[5].type = Type::HardLink;
    archive.members[5].target = "111/layer.tar";
    EXPECT_TRUE(read(archive.tar()));
    archive.members[5].target = kept;
    expect_refused(archive.tar(), "points outside the archive");
    const std::string hex = content::sha256("as it was");
    ASSERT_TRUE(
        read(layout_tar({descriptor_of("as it was")}, {{"./blobs/sha256/" + hex, "", Type::Link, kept}})));
    EXPECT_EQ(blobs_->open(hex).error().code, Errc::NotFound);
}

TEST_F(Foreign, HugeDocumentsAreRefused_CVE_2023_25153) {
    const std::string huge(document_limit + 1, ' ');
    expect_refused(tar_of({{"manifest.json", huge}}), "'manifest.json': is larger than 4194304 bytes");
    expect_refused(tar_of({{"oci-layout", layout_version}, {"index.json", huge}}),
                   "'index.json': is larger than 4194304 bytes");
    expect_refused(tar_of({{"oci-layout", std::string(5000, ' ')}}), "is larger than 4096 bytes");
    DockerArchive archive = two_layer_archive();
    archive.members[6].content = huge;
    expect_refused(archive.tar(), "is larger than 4194304 bytes");
    archive = two_layer_archive();
    for (unsigned i = 0; i < 10'001; ++i)
        archive.manifest.push_back(Json::object());
    expect_refused(archive.tar(), "not a list of at most 10000 images");
}

TEST_F(Foreign, AmbiguousDocumentsAreRefused_CVE_2021_41190) {
    const Json config{{"mediaType", "x"}, {"digest", "sha256:" + std::string(64, 'a')}, {"size", 1}};
    const auto tar = [&](const Json& index) {
        return tar_of({{"oci-layout", layout_version}, {"index.json", base::dump(index)}});
    };
    const Json manifest{{"schemaVersion", 2}, {"config", config}, {"layers", Json::array()}};
    expect_refused(tar(manifest), "is not an index");
    Json both = manifest;
    both["manifests"] = Json::array();
    expect_refused(tar(both), "both an index and a manifest");
}

TEST_F(Foreign, PaxSizesOverrideUstar_CVE_2025_62518) {
    // The pax header has a size of 1024 bytes, the ustar header has 0: a reader of the second one reads an
    // archive in the content.
    std::string inner = tests::tar_header("manifest.json", 2) + "[]" + std::string(510, '\0');
    const std::string tar = tests::pax_records({"size=1024"}) +
                            tests::tar_header("blobs/sha256/" + content::sha256(inner), 0) + inner +
                            layout_tar({descriptor_of(inner)});
    const auto index = read(tar);
    ASSERT_TRUE(index) << index.error().message;
    EXPECT_EQ(blob(index->content[0].hex), inner);
}

TEST_F(Foreign, BombIsRefused_RSPEC_5042) {
    const std::string bomb =
        one_layer_archive(std::string(std::size_t{8} << 20U, '\0'), "").tar(Packing::Zstd);
    content::ArchiveLimits limits = image_archive_limits;
    ASSERT_NE(limits.ratio, 0U);
    limits.unrated_bytes = 1U << 20U;
    const auto index = read(bomb, limits);
    ASSERT_FALSE(index);
    EXPECT_NE(index.error().message.find("much more than its own size"), std::string::npos)
        << index.error().message;
}

TEST_F(Foreign, OtherArchiveFormatsAreRefused_CVE_2024_20696) {
    expect_refused("PK\x03\x04" + std::string(2000, '\0'), "");
    expect_refused("070701" + std::string(2000, '0'), "");
    expect_refused("Rar!\x1a\x07\x01" + std::string(2000, 'x'), "");
    // lzop, for which libarchive starts a program of that name
    expect_refused(std::string("\x89LZO\x00\x0d\x0a\x1a\x0a", 9) + std::string(2000, 'x'), "");
}

TEST_F(Foreign, DuplicateMembersAreRefused) {
    DockerArchive archive = two_layer_archive();
    archive.members.push_back({"./manifest.json", "[]"});
    expect_refused(archive.tar(), "'manifest.json': occurs twice");
    expect_refused(layout_tar({descriptor_of("app")}, {{"index.json", "{}"}}), "'index.json': occurs twice");
    expect_refused(layout_tar({descriptor_of("app")}, {blob_member("app"), blob_member("app")}),
                   "occurs twice");
}

TEST_F(Foreign, BlobMustMatchItsDigest) {
    Member blob = blob_member("app");
    blob.content = "other";
    expect_refused(layout_tar({descriptor_of("app")}, {blob}), "digest mismatch");
}

TEST_F(Foreign, TruncatedArchiveIsRefused) {
    const std::string tar = two_layer_archive().tar();
    for (std::size_t size = 512; size + 1024 < tar.size(); size += 512)
        EXPECT_FALSE(read(tar.substr(0, size + 100))) << size;
}

TEST(DockerManifest, InvalidManifestsAreRefused) {
    for (const char* text : {"", "{}", "null", "[1]", "[{}]", R"([{"Config":1,"Layers":[]}])",
                             R"([{"Config":"x","Layers":"y"}])", R"([{"Config":"x","Layers":[1]}])",
                             R"([{"Config":"x","Layers":[],"RepoTags":"app"}])",
                             R"([{"Config":"x","Layers":[],"RepoTags":[""]}])"}) {
        const auto images = parse_docker_manifest(text);
        EXPECT_FALSE(images) << text;
        EXPECT_EQ(images.error().code, Errc::BadContent) << text << ": " << images.error().message;
    }
    EXPECT_TRUE(parse_docker_manifest("[]"));
    EXPECT_TRUE(parse_docker_manifest(R"([{"Config":"x","Layers":null,"LayerSources":{}}])"));
}

} // namespace
} // namespace gpuhost::images
