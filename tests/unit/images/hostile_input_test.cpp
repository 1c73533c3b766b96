// SPDX-License-Identifier: Apache-2.0
// Known vulnerabilities of other image importers, imported as a host does: those that are refused.
// hostile_import_test.cpp has the harmless ones. Classes that other tests cover:
//   member names outside, CVE-2024-24579: Foreign.MemberNamesOutsideAreRefused_CVE_2024_24579
//   links in archives: Foreign.LinksOutsideAreRefused_GHSA_r3h2_rgqf_9hv9
//   readers that differ about a tar, CVE-2025-62518: Foreign.PaxSizesOverrideUstar_CVE_2025_62518;
//     of signed bundles: Bundle.EveryModifiedByteOutsideContentIsRefused
//   unneeded formats: Foreign.OtherArchiveFormatsAreRefused_CVE_2024_20696
//   bombs: Foreign.BombIsRefused_RSPEC_5042, ArchiveTest.RefusesFramesWithAHugeWindow
//   indexes in indexes: Create.TooDeeplyNestedIndexesAreRefused
//   duplicate members: Foreign.DuplicateMembersAreRefused
//   a name for two images: Create.SameNameForTwoImagesIsRefused
//   modified signed content: Cms.RefusesModifiedDocuments
//   older generations: Import.OlderGenerationIsRefusedUnlessAllowed
//   names before the bytes: Import.BlobsAreNamedOnlyAfterTheirSync, Import.PartsLeftByAPowerCutAreVerified
#include "images/bundle/oci.hpp"
#include "tests/unit/images/hostile_input.hpp"

namespace gpuhost::images {
namespace {

enum class Form { Tar, Directory, Both };

struct Row {
    const char* name; ///< the class, and the id of a known vulnerability
    Form form;
    std::vector<File> (*files)();
    Errc code;
    const char* reason; ///< part of the message
};

std::vector<File> with_link(const std::string& path, const std::string& target) {
    std::vector<File> files = Layout().with_image();
    std::erase_if(files, [&](const File& file) { return file.path.find(path) == 0; });
    files.push_back({path, "", Type::Link, target});
    return files;
}

/// Returns an index that names one manifest for each platform.
std::vector<File> with_platforms(const std::vector<std::string>& variants) {
    Layout layout;
    Json manifest = layout.add(base::dump(layout.manifest()), manifest_type);
    Json index{{"schemaVersion", 2}, {"manifests", Json::array()}};
    for (const std::string& variant : variants) {
        manifest["platform"] = {{"os", "linux"}, {"architecture", "arm64"}, {"variant", variant}};
        index["manifests"].push_back(manifest);
    }
    return layout.with_image(base::dump(index), index_type);
}

std::vector<File> with_digest(const char* key, const std::string& digest) {
    Layout layout;
    Json manifest = layout.manifest();
    const Json descriptor{{"mediaType", layer_type}, {"digest", digest}, {"size", 5}};
    manifest[key] = std::string_view(key) == "layers" ? Json::array({descriptor}) : descriptor;
    return layout.with_image(base::dump(manifest));
}

const std::string layer_blob = "blobs/sha256/" + content::sha256("layer");

const Row rows[] = {
    {"DigestOfALayerAsAPath_CVE_2024_3727", Form::Both,
     [] { return with_digest("layers", "sha256:../../../outside/" + layer_blob); }, Errc::BadContent,
     "is not a sha256 digest"},
    {"DigestOfASubjectAsAPath_CVE_2024_3727", Form::Both,
     [] { return with_digest("subject", "sha256:../../../outside/" + layer_blob); }, Errc::BadContent,
     "is not a sha256 digest"},
    {"BlobIsALink_GHSA_r3h2_rgqf_9hv9", Form::Directory,
     [] { return with_link(layer_blob, "../../../outside/" + layer_blob); }, Errc::BadContent,
     "is not a regular file"},
    {"BlobIsALinkInside_GHSA_r3h2_rgqf_9hv9", Form::Directory,
     [] {
         auto files = with_link(layer_blob, "../../other");
         files.push_back({"other", "layer"});
         return files;
     },
     Errc::BadContent, "is not a regular file"},
    {"BlobsAreALink_GHSA_r3h2_rgqf_9hv9", Form::Directory,
     [] { return with_link("blobs", "../outside/blobs"); }, Errc::NotFound, "not found"},
    {"IndexIsALink_GHSA_r3h2_rgqf_9hv9", Form::Directory,
     [] { return with_link("index.json", "../outside/index.json"); }, Errc::BadContent,
     "index.json: is not a regular file"},
    {"BlobIsADevice_CVE_2026_53489", Form::Tar,
     [] {
         auto files = Layout().with_image();
         files.push_back({"blobs/sha256/" + std::string(64, 'a'), "", Type::Device});
         return files;
     },
     Errc::BadContent, "is a device"},
    {"HugeManifest_CVE_2023_25153", Form::Both,
     [] {
         Layout layout;
         Json manifest = layout.manifest();
         manifest["annotations"] = {{"x", std::string(document_limit, 'x')}};
         return layout.with_image(base::dump(manifest));
     },
     Errc::BadContent, "larger than 4194304 bytes"},
    {"DeepManifest_CVE_2023_25153", Form::Both,
     [] {
         const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
         return Layout().with_image(R"({"schemaVersion":2,"layers":)" + deep + "}");
     },
     Errc::BadContent, "nested too deeply"},
    {"ManifestThatIsAnIndexToo_CVE_2021_41190", Form::Both,
     [] {
         Layout layout;
         Json manifest = layout.manifest();
         manifest["manifests"] = Json::array();
         return layout.with_image(base::dump(manifest));
     },
     Errc::BadContent, "both an index and a manifest"},
    {"ManifestUnderTheTypeOfAnIndex_CVE_2021_41190", Form::Both,
     [] {
         Layout layout;
         return layout.with_image(base::dump(layout.manifest()), index_type);
     },
     Errc::BadContent, "is a manifest, but its media type is"},
    {"LayerThatIsABomb_RSPEC_5042", Form::Tar,
     [] {
         const std::string mebibyte = tests::packed(std::string(1U << 20U, '\0'), Packing::Zstd);
         tests::DockerArchive archive;
         archive.members = {{"layer.tar", ""}, {"config.json", tests::docker_config({"x"})}};
         for (int i = 0; i < 300; ++i)
             archive.members[0].content += mebibyte;
         archive.name("config.json", {"layer.tar"}, nullptr);
         archive.members.push_back({"manifest.json", base::dump(archive.manifest)});
         return archive.members;
     },
     Errc::BadContent, "unpacks to much more than its own size"},
    {"NameThatIsLong_RSPEC_5042", Form::Tar,
     [] {
         auto files = Layout().with_image();
         files.push_back({std::string(600, 'x'), ""});
         return files;
     },
     Errc::BadContent, "longer than 512 bytes"},
    {"ManyPlatforms_CVE_2026_95838", Form::Both,
     [] {
         std::vector<std::string> variants;
         for (int i = 0; i < 300; ++i)
             variants.push_back(std::to_string(i));
         return with_platforms(variants);
     },
     Errc::BadContent, "more than 256 platforms"},
    {"PlatformThatIsNoWord_CVE_2024_3727", Form::Both, [] { return with_platforms({"v8\n\x1b[2J"}); },
     Errc::BadContent, "invalid platform"},
};

class HostileRow : public HostileInput, public ::testing::WithParamInterface<Row> {
  protected:
    void expect_refused(const std::string& file) {
        ASSERT_TRUE(adopt_tar(two_layers_, "before") && commit());
        const auto before = all_files();
        const auto refused = adopt(file);
        ASSERT_FALSE(refused) << file;
        EXPECT_EQ(refused.error().code, GetParam().code) << refused.error().message;
        EXPECT_NE(refused.error().message.find(GetParam().reason), std::string::npos)
            << refused.error().message;
        EXPECT_EQ(all_files(), before);
        EXPECT_FALSE(received_bundle(root_).value());
    }
    std::string two_layers_ = tests::two_layer_archive().tar();
};

TEST_P(HostileRow, IsRefusedAndChangesNothing) {
    const auto files = GetParam().files();
    if (GetParam().form != Form::Directory) {
        directory_.write("hostile.tar", tests::tar_of(files, Packing::Gzip));
        expect_refused("hostile.tar");
    }
    if (GetParam().form != Form::Tar) {
        write_directory("hostile", files);
        expect_refused("hostile");
    }
}

INSTANTIATE_TEST_SUITE_P(All, HostileRow, ::testing::ValuesIn(rows),
                         [](const auto& row) { return std::string(row.param.name); });

} // namespace
} // namespace gpuhost::images
