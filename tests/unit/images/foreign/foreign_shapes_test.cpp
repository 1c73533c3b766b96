// SPDX-License-Identifier: Apache-2.0
// Imports layouts as other programs write them, as a host does. foreign_test.cpp only reads archives.
#include "images/store/references.hpp"
#include "tests/unit/images/hostile_input.hpp"

#include <algorithm>

namespace gpuhost::images {
namespace {

class ForeignShapes : public HostileInput {
  protected:
    /// Expects an import with only the blobs of the image.
    void expect_imported(const std::string& tar, std::size_t blobs = 3) {
        const auto adopted = adopt_tar(tar, "airgap" + std::to_string(++taken_));
        ASSERT_TRUE(adopted) << adopted.error().message;
        const auto record = commit();
        ASSERT_TRUE(record) << record.error().message;
        EXPECT_EQ(record->blobs, blobs);
        EXPECT_TRUE(References::load(root_)->find(parse_reference("r.io/app:v1").value()));
    }
    [[nodiscard]] Result<ForeignBundle> adopt_as(const std::vector<File>& files, const std::string& image) {
        directory_.write("in.tar", tests::tar_of(files));
        const UniqueFd fd(::open(directory_.path("in.tar").c_str(), O_RDONLY | O_CLOEXEC));
        return add_foreign_images(root_, {fd.get(), "in.tar", image}, "airgap", host_);
    }
    unsigned taken_ = 0;
};

/// Each image has its own layer, because a host reuses blobs of its store.
std::vector<File> image_with(const std::string& layer) {
    Layout layout;
    const std::string manifest = base::dump(layout.manifest(layer));
    return layout.with_image(manifest);
}

/// Returns a tar of these files with headers of `header_of`.
template <class HeaderOf>
std::string raw_tar(const std::vector<File>& files, HeaderOf header_of) {
    std::string tar;
    for (const File& file : files)
        tar += tests::raw_member(header_of(file), file.content);
    return tar + std::string(1024, '\0');
}

std::vector<File> below(const std::string& directory, std::vector<File> files) {
    for (File& file : files)
        file.path = directory + file.path;
    return files;
}

std::string gnu_header(const std::string& path, std::size_t size, char type = '0') {
    std::string header = tests::tar_header(path.substr(0, 100), size, type);
    return tests::summed(header.replace(257, 8, std::string("ustar  \0", 8)));
}

TEST_F(ForeignShapes, HeadersOfEveryTarFormatAreRead) {
    expect_imported(raw_tar(image_with("old"), [](const File& file) { // "regular" before POSIX
        std::string header = tests::tar_header(file.path, file.content.size(), '\0');
        return tests::summed(header.replace(257, 255, 255, '\0'));
    }));
    expect_imported(raw_tar(image_with("large"),
                            [](const File& file) { // a size in base 256, as GNU writes it above 8 GiB
                                std::string header = gnu_header(file.path, 0);
                                header.replace(124, 12,
                                               std::string("\x80\0\0\0\0\0\0\0\0\0", 10) +
                                                   static_cast<char>(file.content.size() >> 8U) +
                                                   static_cast<char>(file.content.size() & 0xffU));
                                return tests::summed(header);
                            }));
    expect_imported(raw_tar(below(std::string(120, 'd') + "/", image_with("long")),
                            [](const File& file) { // GNU's format for long names
                                const std::string name = file.path + '\0';
                                return tests::raw_member(gnu_header("././@LongLink", name.size(), 'L'),
                                                         name) +
                                       gnu_header(file.path, file.content.size());
                            }));
    expect_imported(raw_tar(image_with("pax"), [](const File& file) { // pax: the records override the header
        return tests::pax_records(
                   {"path=" + file.path, "size=" + std::to_string(file.content.size()), "comment=x"}) +
               tests::tar_header("another", 0);
    }));
}

TEST_F(ForeignShapes, InvalidSizesAreRefused) {
    for (const char first : {'\xff', '\x80'}) {
        std::string header = gnu_header("oci-layout", 0);
        header.replace(124, 12, first + std::string(11, '\xff'));
        const auto refused = adopt_tar(tests::summed(header) + std::string(4096, 'x'));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::BadContent) << refused.error().message;
    }
}

TEST_F(ForeignShapes, LayoutInADirectoryIsImported) {
    for (const char* directory : {"./", "layout/", "./layout/", "a/b/c/"}) {
        auto files = below(directory, image_with(directory));
        files.insert(files.begin(), {directory, "", Type::Directory});
        expect_imported(tests::tar_of(files, Packing::Zstd));
    }
}

TEST_F(ForeignShapes, DescriptorsWithEmbeddedDataStillNeedBlobs) {
    Layout layout;
    Json manifest = layout.manifest();
    manifest["config"]["data"] = "e30="; // {}
    manifest["layers"][0]["data"] = "not base64, and nobody's business";
    const auto files = layout.with_image(base::dump(manifest));
    auto lacking = files;
    std::erase_if(lacking, [](const File& file) { return file.content == "{}"; });
    const auto refused = adopt_tar(tests::tar_of(lacking));
    ASSERT_FALSE(refused) << "clients cannot pull data from a descriptor";
    EXPECT_EQ(refused.error().code, Errc::NotFound) << refused.error().message;
    expect_imported(tests::tar_of(files));
}

TEST_F(ForeignShapes, EmptyBlobsAreImported) {
    expect_imported(tests::tar_of(image_with("")));
    EXPECT_TRUE(BlobStore(root_).has(content::sha256(""), 0));
}

TEST_F(ForeignShapes, DockersMediaTypesAreAccepted) {
    Layout layout;
    Json manifest = layout.manifest();
    manifest["mediaType"] = "application/vnd.docker.distribution.manifest.v2+json";
    manifest["config"]["mediaType"] = "application/vnd.docker.container.image.v1+json";
    manifest["layers"][0]["mediaType"] = "application/vnd.docker.image.rootfs.diff.tar.gzip";
    manifest["layers"].push_back({{"mediaType", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"},
                                  {"digest", "sha256:" + std::string(64, 'f')},
                                  {"size", 5},
                                  {"urls", {"https://elsewhere.example/layer"}}});
    const std::string text = base::dump(manifest);
    expect_imported(
        tests::tar_of(layout.with_image(text, "application/vnd.docker.distribution.manifest.v2+json")));
    EXPECT_EQ(directory_.read("host/var/lib/gpuhost/store/sha256/" + content::sha256(text)), text)
        << "unchanged: its digest is its name";
}

TEST_F(ForeignShapes, ArtifactsWithoutLayersAreImported) {
    Layout layout;
    const Json empty = layout.add("{}", "application/vnd.oci.empty.v1+json");
    expect_imported(tests::tar_of(layout.with_image(base::dump({{"schemaVersion", 2},
                                                                {"mediaType", manifest_type},
                                                                {"artifactType", "application/vnd.example"},
                                                                {"config", empty},
                                                                {"layers", {empty}}}))),
                    2);
}

// --- other digest algorithms

/// Adds an entry to the index of the layout `files`.
std::vector<File> with_entry(std::vector<File> files, const Json& entry) {
    for (File& file : files)
        if (file.path == "index.json") {
            Json index = base::parse_json(file.content, "index").value();
            index["manifests"].push_back(entry);
            file.content = base::dump(index);
        }
    return files;
}

Json entry_by_sha512(const char* type) {
    return {{"mediaType", type},
            {"digest", "sha512:" + std::string(128, 'a')},
            {"size", 7},
            {"annotations", {{"io.containerd.image.name", "r.io/other:v1"}}}};
}

TEST_F(ForeignShapes, ImageWithAnotherDigestAlgorithmIsOmitted) {
    const auto adopted = adopt_as(with_entry(Layout().with_image(), entry_by_sha512(manifest_type)), "");
    ASSERT_TRUE(adopted) << adopted.error().message;
    ASSERT_EQ(adopted->warnings.size(), 1U);
    EXPECT_EQ(adopted->warnings[0], "left out image 'r.io/other:v1' without a SHA-256 digest");
    ASSERT_EQ(adopted->manifest.images.size(), 1U);
    EXPECT_EQ(adopted->manifest.images[0].name, "r.io/app:v1");
}

TEST_F(ForeignShapes, UnknownTypeIsOmittedWithoutAWarning) {
    const auto adopted =
        adopt_as(with_entry(Layout().with_image(), entry_by_sha512("application/vnd.example")), "");
    ASSERT_TRUE(adopted) << adopted.error().message;
    EXPECT_EQ(adopted->warnings, std::vector<std::string>{});
}

TEST_F(ForeignShapes, LayoutWithoutUsableImagesIsRefused) {
    Layout layout;
    layout.files = {{"oci-layout", R"({"imageLayoutVersion":"1.0.0"})"},
                    {"index.json", R"({"schemaVersion":2,"manifests":[]})"}};
    const auto refused = adopt_as(with_entry(layout.files, entry_by_sha512(index_type)), "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::Unsupported);
    EXPECT_NE(refused.error().message.find("'r.io/other:v1' has a digest that is not SHA-256"),
              std::string::npos)
        << refused.error().message;
}

TEST_F(ForeignShapes, PartWithAnotherDigestAlgorithmIsRefused) {
    Layout layout;
    const Json part = layout.add(base::dump(layout.manifest()), manifest_type);
    const Json index{{"schemaVersion", 2},
                     {"mediaType", index_type},
                     {"manifests", {part, entry_by_sha512(manifest_type)}}};
    const auto refused = adopt_as(layout.with_image(base::dump(index), index_type), "");
    ASSERT_FALSE(refused) << "hosts of the other platform need it";
    EXPECT_EQ(refused.error().code, Errc::Unsupported);
    EXPECT_NE(refused.error().message.find("digests are not SHA-256: r.io/other:v1"), std::string::npos)
        << refused.error().message;
}

TEST_F(ForeignShapes, LayerWithAnotherDigestAlgorithmNamesItsImage) {
    Layout layout;
    Json manifest = layout.manifest();
    manifest["layers"][0]["digest"] = "sha512:" + std::string(128, 'a');
    const auto refused = adopt_as(layout.with_image(base::dump(manifest)), "");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("r.io/app:v1"), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find("is not a sha256 digest"), std::string::npos)
        << refused.error().message;
}

// --- images without a name

/// Returns a layout as `skopeo copy … oci-archive:app.tar:v1` writes it.
std::vector<File> with_a_tag_alone() {
    auto files = Layout().with_image();
    for (File& file : files)
        if (const auto at = file.content.find("r.io/app:v1"); at != std::string::npos)
            file.content.replace(at, 11, "v1");
    return files;
}

TEST_F(ForeignShapes, ImageWithoutANameIsAWarning) {
    const auto adopted = adopt_as(with_a_tag_alone(), "");
    ASSERT_TRUE(adopted) << adopted.error().message;
    ASSERT_EQ(adopted->warnings.size(), 1U);
    EXPECT_NE(adopted->warnings[0].find("--image-name"), std::string::npos) << adopted->warnings[0];
}

TEST_F(ForeignShapes, ImageNameCanBeGiven) {
    const auto adopted = adopt_as(with_a_tag_alone(), "r.io/app:v1");
    ASSERT_TRUE(adopted) << adopted.error().message;
    EXPECT_EQ(adopted->warnings, std::vector<std::string>{});
    ASSERT_TRUE(commit());
    EXPECT_TRUE(References::load(root_)->find(parse_reference("r.io/app:v1").value()));
}

TEST_F(ForeignShapes, SameNameForSeveralImagesIsRefused) {
    Layout layout;
    const Json config = layout.add("{ }", "application/vnd.oci.image.config.v1+json");
    const Json second = layout.add(
        base::dump({{"schemaVersion", 2}, {"config", config}, {"layers", Json::array()}}), manifest_type);
    const auto refused = adopt_as(with_entry(layout.with_image(), second), "r.io/app:v1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
    EXPECT_NE(refused.error().message.find("has 2 images"), std::string::npos) << refused.error().message;
}

} // namespace
} // namespace gpuhost::images
