// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/oci.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

const std::string hex_a(64, 'a');
const std::string hex_b(64, 'b');
const std::string index_type = "application/vnd.oci.image.index.v1+json";
const std::string manifest_type = "application/vnd.oci.image.manifest.v1+json";

std::string descriptor(const std::string& hex, const std::string& more = {}) {
    return R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:)" + hex +
           R"(","size":7)" + more + "}";
}

TEST(OciTest, ReadsAnIndex) {
    const auto document = parse_document(
        R"({"schemaVersion":2,"manifests":[)" +
            descriptor(hex_a, R"(,"platform":{"os":"linux","architecture":"arm64","variant":"v8"})") + "," +
            descriptor(hex_b, R"(,"annotations":{"org.opencontainers.image.ref.name":"v1"})") + "]}",
        "", "index.json");
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_TRUE(document->index);
    EXPECT_EQ(document->media_type, index_type);
    ASSERT_EQ(document->content.size(), 2U);
    EXPECT_EQ(document->content[0].hex, hex_a);
    EXPECT_EQ(document->content[0].size, 7U);
    EXPECT_EQ(document->content[0].platform, "linux/arm64/v8");
    EXPECT_EQ(document->content[1].platform, "");
    EXPECT_EQ(document->content[1].names, std::vector<std::string>{"v1"});
    EXPECT_FALSE(document->subject);
}

TEST(OciTest, ReadsAManifest) {
    const auto document = parse_document(
        R"({"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",)"
        R"("config":)" +
            descriptor(hex_a) + R"(,"layers":[)" + descriptor(hex_b, R"(,"urls":["https://elsewhere"])") +
            R"(],"subject":)" + descriptor(hex_a) + "}",
        "application/vnd.docker.distribution.manifest.v2+json", "x");
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_FALSE(document->index);
    ASSERT_EQ(document->content.size(), 2U);
    EXPECT_FALSE(document->content[0].elsewhere);
    EXPECT_TRUE(document->content[1].elsewhere);
    ASSERT_TRUE(document->subject);
    EXPECT_EQ(document->subject->hex, hex_a);
    EXPECT_EQ(document->artifact_type, manifest_type) << "the media type of its configuration";
}

TEST(OciTest, IndexMayHaveOtherDigestAlgorithms) {
    const std::string other = R"("digest":"sha512:)" + hex_a + hex_a + R"(","size":1)";
    const auto document =
        parse_document(R"({"schemaVersion":2,"manifests":[{"mediaType":"x/y",)" + other +
                           R"(},{"mediaType":"application/vnd.oci.image.manifest.v1+json",)" + other + "}," +
                           descriptor(hex_a) + "]}",
                       "", "index.json");
    ASSERT_TRUE(document) << document.error().message;
    ASSERT_EQ(document->content.size(), 1U);
    EXPECT_EQ(document->content[0].hex, hex_a);
    EXPECT_EQ(document->left_out, std::vector<std::string>{("sha512:" + hex_a + hex_a).substr(0, 100)});
}

TEST(OciTest, AmbiguousDocumentsAreRefused) {
    const std::string both =
        R"({"schemaVersion":2,"manifests":[],"layers":[],"config":)" + descriptor(hex_a) + "}";
    const std::string list = R"({"schemaVersion":2,"manifests":[]})";
    const std::pair<std::string, std::string> rows[] = {
        {both, ""},
        {R"({"schemaVersion":2})", ""},
        {R"({"schemaVersion":1,"manifests":[]})", ""},
        {list, manifest_type},
        {R"({"schemaVersion":2,"mediaType":")" + manifest_type + R"(","manifests":[]})", ""},
        {R"({"schemaVersion":2,"mediaType":")" + index_type + R"(","manifests":[]})", manifest_type},
        {R"({"schemaVersion":2,"layers":[]})", ""},
        {R"({"schemaVersion":2,"manifests":{}})", ""},
        {R"({"schemaVersion":2,"manifests":[7]})", ""},
        {R"({"schemaVersion":2,"manifests":[{"digest":"sha256:../../x","size":1}]})", ""},
        {R"({"schemaVersion":2,"manifests":[{"digest":"sha512:","size":1}]})", ""},
        {R"({"schemaVersion":2,"manifests":[{"digest":"sha512:../x","size":1}]})", ""},
        {R"({"schemaVersion":2,"manifests":[{"digest":":x","size":1}]})", ""},
        {R"({"schemaVersion":2,"layers":[],"config":{"digest":"sha512:)" + hex_a + R"(","size":1}})", ""},
        {R"({"schemaVersion":2,"manifests":[{"digest":"sha256:)" + hex_a + R"(","size":-1}]})", ""},
        {R"({"schemaVersion":2,"manifests":[{"digest":"sha256:)" + hex_a + R"("}]})", ""},
        {"[]", ""},
        {"", ""},
        {std::string(document_limit + 1, ' '), ""},
    };
    for (const auto& [text, type] : rows) {
        const auto document = parse_document(text, type, "blob");
        ASSERT_FALSE(document) << text.substr(0, 200);
        EXPECT_EQ(document.error().code, base::Errc::BadContent);
        EXPECT_EQ(document.error().message.find("blob: "), 0U) << document.error().message;
    }
    EXPECT_TRUE(parse_document(list, index_type, "x"));
}

} // namespace
} // namespace gpuhost::images
