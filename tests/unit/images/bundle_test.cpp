// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/root.hpp"
#include "daemon/content/archive/archive.hpp"
#include "images/bundle/items.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/bundles.hpp"

#include <array>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Result;
using base::UniqueFd;
using tests::memory_file;

class Bundle : public ::testing::Test {
  protected:
    Bundle() { EXPECT_TRUE(trust_.add(site_.certificate, "site")); }

    void add(const std::string& content, const std::string& path = {}) { bundle_.add(content, path); }
    [[nodiscard]] Result<std::string> write() const { return bundle_.write(site_); }
    [[nodiscard]] Result<BundleReader> open(const UniqueFd& fd) const {
        GPUHOST_TRY(input, BundleInput::open({{fd.get(), "site.bundle"}}));
        return BundleReader::open(std::move(input), trust_);
    }
    /// Reads the bundle to the end. Returns the content of all members.
    [[nodiscard]] static Result<std::map<std::string, std::string>> read_all(BundleReader& reader) {
        std::map<std::string, std::string> members;
        for (;;) {
            GPUHOST_TRY(member, reader.next());
            if (member == nullptr)
                return members;
            std::string content(static_cast<std::size_t>(member->size), '\0');
            GPUHOST_CHECK(reader.body().read(std::span(content)));
            members[member->place()] = content;
        }
    }
    [[nodiscard]] Result<std::map<std::string, std::string>> read(const std::string& bytes) const {
        const UniqueFd fd = memory_file(bytes);
        GPUHOST_TRY(reader, open(fd));
        return read_all(reader);
    }
    [[nodiscard]] std::map<std::string, std::string> expected() const { return bundle_.expected(); }

    tests::Identity site_ = tests::make_identity({});
    content::TrustAnchors trust_;
    tests::TestBundle bundle_;
};

/// Sizes around every boundary of the layout.
constexpr std::array<std::size_t, 14> sizes{0,    1,    511,  512,  513,  2048, 2559,
                                            2560, 2561, 3072, 3584, 4095, 4096, 100'000};

TEST_F(Bundle, WrittenBundleIsReadBack) {
    add(R"({"imageLayoutVersion":"1.0.0"})", "oci-layout");
    for (const std::size_t size : sizes)
        add(std::string(size, static_cast<char>('a' + size % 26)));
    const auto bytes = write();
    ASSERT_TRUE(bytes) << bytes.error().message;
    const UniqueFd fd = memory_file(*bytes);
    auto reader = open(fd);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->manifest().name, "site-images");
    EXPECT_EQ(reader->manifest().generation, 7U);
    EXPECT_EQ(reader->signer().subject, "CN=Release key");
    EXPECT_EQ(read_all(*reader).value(), expected());
    EXPECT_EQ(bytes->size() % tar_block, 0U);
}

TEST_F(Bundle, OtherTarReadersReadTheBundle) {
    for (const std::size_t size : sizes)
        add(std::string(size, 'x') + std::to_string(size));
    add("{}", "index.json");
    const std::string bytes = write().value();
    auto archive =
        content::ArchiveReader::open(std::string_view(bytes), content::ArchiveFormat::Tar, "bundle");
    ASSERT_TRUE(archive);
    std::map<std::string, std::string> members;
    for (auto entry = archive->next(); entry && *entry; entry = archive->next())
        members[(*entry)->path] = archive->read_all(1U << 20U).value();
    EXPECT_EQ(members.erase(std::string(manifest_place)), 1U);
    EXPECT_EQ(members, expected());
}

TEST_F(Bundle, MemberContentIsAligned) {
    for (const std::size_t size : sizes)
        add(std::string(size, 'x') + "mark" + std::to_string(size));
    const std::string bytes = write().value();
    for (const auto& [hex, content] : bundle_.contents)
        EXPECT_EQ(bytes.find(content) % data_alignment, 0U) << content.size();
}

TEST_F(Bundle, ImagesListTheirMembers) {
    const auto descriptor = [](const std::string& type, const std::string& hex, std::size_t size) {
        return R"({"mediaType":"application/vnd.oci.image.)" + type + R"(.v1+json","digest":"sha256:)" + hex +
               R"(","size":)" + std::to_string(size) + "}";
    };
    const auto document = [](const std::string& rest) { return R"({"schemaVersion":2,)" + rest + "}"; };
    add("of no image");
    const std::string layer = bundle_.add(std::string(5000, 'l'));
    const std::string config = bundle_.add("{}");
    const std::string text =
        document(R"("config":)" + descriptor("config", config, 2) + R"(,"layers":[)" +
                 descriptor("layer", layer, 5000) + "," + descriptor("layer", layer, 5000) + "]");
    const std::string manifest = bundle_.add(text);
    const std::string left_out(64, 'f'); // an omitted manifest of another platform
    const std::string list = document(R"("manifests":[)" + descriptor("manifest", manifest, text.size()) +
                                      "," + descriptor("manifest", left_out, 1) + "]");
    const std::string index = bundle_.add(list);
    bundle_.manifest.images = {
        {"r.io/a:1", index, "application/vnd.oci.image.index.v1+json", list.size(), {}}};
    const std::string bytes = write().value();
    const std::size_t cut = bytes.find(text) + 10; // a volume may end inside the manifest
    const UniqueFd first = memory_file(bytes.substr(0, cut));
    const UniqueFd second = memory_file(bytes.substr(cut));
    auto input = BundleInput::open({{first.get(), "1"}, {second.get(), "2"}});
    const auto reader = BundleReader::open(*std::move(input), trust_);
    ASSERT_TRUE(reader) << reader.error().message;
    const BundleManifest& read = reader->manifest();
    std::set<std::string> found;
    const auto members = BundleItems(read, documents_of(*reader)).members_of(read.images[0]);
    ASSERT_TRUE(members) << members.error().message;
    for (const Member* const member : *members)
        EXPECT_TRUE(found.insert(member->hex).second) << "no member is listed twice";
    EXPECT_EQ(found, (std::set<std::string>{layer, config, manifest, index}));
    const auto lies = [&](const Member& member) -> Result<std::string> {
        return std::string(static_cast<std::size_t>(member.size), ' ');
    };
    EXPECT_FALSE(BundleItems(read, lies).members_of(read.images[0]))
        << "documents are compared with their digest";
}

TEST_F(Bundle, PlacesMembersLargerThanEightGibibytes) {
    Member large;
    large.hex = std::string(64, 'a');
    large.size = (std::uint64_t{8} << 30U) + 5;
    for (std::uint64_t manifest = 0; manifest < 5000; manifest += 512) {
        BundleLayout layout(manifest);
        const std::string head = layout.before(large);
        EXPECT_EQ(layout.position() % data_alignment, 0U);
        EXPECT_NE(head.find("19 size=8589934597\n"), std::string::npos);
        auto archive =
            content::ArchiveReader::open(std::string_view(head), content::ArchiveFormat::Tar, "x",
                                         {10, std::uint64_t{1} << 50U, std::uint64_t{1} << 50U, 1024});
        ASSERT_TRUE(archive);
        const auto entry = archive->next();
        ASSERT_TRUE(entry && *entry) << entry.error().message;
        EXPECT_EQ((*entry)->size, large.size);
        EXPECT_EQ((*entry)->path, large.place());
    }
}

TEST_F(Bundle, SameInputGivesTheSameBytes) {
    tests::CertificateRequest request;
    request.bits = 2048; // an ECDSA signature is random
    site_ = tests::make_identity(request);
    add("content");
    EXPECT_EQ(write().value(), write().value());
}

TEST_F(Bundle, ReadsPipesAndVolumes) {
    for (const std::size_t size : sizes)
        add(std::string(size, 'x') + std::to_string(size));
    const std::string bytes = write().value();
    for (const std::size_t at : {std::size_t{1}, std::size_t{512}, bytes.size() / 2, bytes.size() - 1}) {
        const UniqueFd first = memory_file(bytes.substr(0, at));
        const UniqueFd empty = memory_file("");
        const UniqueFd second = memory_file(bytes.substr(at));
        auto input = BundleInput::open({{first.get(), "a"}, {empty.get(), "b"}, {second.get(), "c"}});
        ASSERT_TRUE(input);
        auto reader = BundleReader::open(*std::move(input), trust_);
        ASSERT_TRUE(reader) << reader.error().message;
        EXPECT_EQ(read_all(*reader).value(), expected());
    }
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    const pid_t writer = ::fork();
    if (writer == 0)
        ::_exit(base::write_all(to.get(), bytes, "pipe") ? 0 : 1);
    to.reset();
    auto reader = open(from);
    ASSERT_TRUE(reader) << reader.error().message;
    std::size_t members = 0;
    for (auto member = reader->next(); member && *member != nullptr; member = reader->next())
        ++members; // the content is skipped
    EXPECT_EQ(members, sizes.size());
    EXPECT_FALSE(BundleInput::open({{from.get(), "a"}, {from.get(), "b"}})) << "two pipes";
}

TEST_F(Bundle, TruncatedBundleIsRefusedAtEverySize) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{700}, std::size_t{5000}})
        add(std::string(size, 'x'));
    const std::string bytes = write().value();
    for (std::size_t size = 0; size < bytes.size(); size += 61) {
        const auto cut = read(bytes.substr(0, size));
        ASSERT_FALSE(cut) << size;
        EXPECT_EQ(cut.error().code, Errc::BadContent) << cut.error().message;
        const UniqueFd first = memory_file(bytes.substr(0, size));
        auto reader = open(first);
        while (reader) { // the same if the content is skipped
            const auto member = reader->next();
            if (!member)
                break;
            ASSERT_NE(*member, nullptr) << size;
        }
    }
    EXPECT_FALSE(read(bytes + "x"));
    EXPECT_FALSE(read(bytes + std::string(512, '\0')));
}

TEST_F(Bundle, EveryModifiedByteOutsideContentIsRefused) {
    add(std::string(700, 'x'));
    add(std::string(9000, 'y'));
    const std::string bytes = write().value();
    ASSERT_TRUE(read(bytes));
    const std::uint64_t manifest = manifest_size(bytes.substr(0, tar_block)).value();
    // Every byte outside the content of members, which the import hashes.
    std::vector<bool> content(bytes.size(), false);
    for (const auto& [hex, text] : bundle_.contents)
        std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(bytes.find(text)), text.size(), true);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const bool signed_ = at >= tar_block && at < tar_block + manifest;
        if (content[at] || (signed_ && at % 7 != 0)) // a sample, because each needs a verification
            continue;
        std::string other = bytes;
        other[at] = static_cast<char>(other[at] ^ 1);
        const auto members = read(other);
        // CMS has insignificant bytes, such as the order of certificates. The manifest is then the same.
        if (signed_ && members)
            EXPECT_EQ(*members, expected()) << at;
        else
            ASSERT_FALSE(members) << at;
    }
}

TEST_F(Bundle, ContentThatMismatchesItsDigestIsNotSigned) {
    add("content");
    bundle_.contents.begin()->second = "CONTENT";
    EXPECT_EQ(write().error().code, Errc::BadContent);
    bundle_.contents.begin()->second = "cont";
    EXPECT_EQ(write().error().code, Errc::BadContent);
}

TEST_F(Bundle, DeltaOmitsMembersThatHostsHave) {
    add("old");
    add("new");
    bundle_.manifest.members[0].absent = true;
    EXPECT_EQ(read(write().value()).value(),
              (std::map<std::string, std::string>{{bundle_.manifest.members[1].place(), "new"}}));
}

TEST(BundleInputTest, AcceptsOnlyFilesAndOnePipe) {
    const tests::TempDir directory;
    const auto fd = directory.root().open_file("/", O_RDONLY | O_DIRECTORY);
    EXPECT_EQ(BundleInput::open({{fd->get(), "dir"}}).error().code, Errc::InvalidArgument);
    EXPECT_EQ(BundleInput::open({}).error().code, Errc::InvalidArgument);
}

// --- manifest

const std::string hex(64, 'a');

std::string text_with(const std::string& members, const std::string& images = "[]",
                      const std::string& more = "") {
    return R"({"format":"gpuhost-bundle","version":1,"name":"site","generation":1,"created":2,"images":)" +
           images + more + R"(,"members":)" + members + "}";
}
std::string blob(const std::string& more = "") {
    return R"({"digest":"sha256:)" + hex + R"(","size":7)" + more + "}";
}

TEST(BundleManifestTest, TextRoundTripKeepsAllMembers) {
    BundleManifest manifest{"site-images", 7, 1'700'000'000, {}, {}, {}};
    manifest.members = {{hex, 12, "", {"linux/arm64,os=debian-12", "kernel=6.1.0-50-amd64"}, true},
                        {std::string(64, 'b'), 3, "index.json", {}, false}};
    manifest.images = {
        {"docker.io/library/busybox:1", hex, "application/vnd.oci.image.index.v1+json", 12, {"linux/arm64"}}};
    manifest.artifacts = {{"driver-packages", "550.163.01", "", hex, 12},
                          {"driver-modules", "550.163.01", "6.1.0-50-amd64", hex, 12, "proprietary"},
                          {"driver-modules", "550.163.01", "6.1.0-50-amd64", hex, 12},
                          {"packages", "debian-12", "", hex, 12},
                          {"files", "runbooks", "", hex, 12}};
    BundleImage signature = manifest.images[0];
    signature.name.clear();
    signature.subject = std::string(64, 'c');
    signature.artifact_type = "application/example.signature";
    signature.annotations = {{"by", "us"}};
    manifest.images.push_back(signature);
    const auto read = parse_bundle_manifest(to_text(manifest), "x");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_text(*read), to_text(manifest));
    EXPECT_EQ(read->images, manifest.images);
    EXPECT_EQ(read->members[0].hosts.size(), 2U);
    EXPECT_TRUE(read->members[0].absent);
    EXPECT_EQ(read->members[1].path, "index.json");
    EXPECT_EQ(read->images[0].name, "docker.io/library/busybox:1");
    ASSERT_EQ(read->artifacts.size(), 5U);
    EXPECT_EQ(artifact_type(read->artifacts[0]), "application/vnd.gpuhost.driver-packages.v1");
    EXPECT_EQ(read->artifacts[1].kernel, "6.1.0-50-amd64");
    EXPECT_EQ(read->artifacts[1].flavour, "proprietary");
    EXPECT_EQ(read->artifacts[2].flavour, "") << "as in older bundles";
    EXPECT_TRUE(parse_bundle_manifest(to_text(BundleManifest{"a", 0, 0, {}, {}, {}}), "x"));
}

TEST(BundleManifestTest, ReferrersAreLimited) {
    const auto parsed = [](const std::string& more) {
        return parse_bundle_manifest(
            text_with("[" + blob() + "]",
                      R"([{"digest":"sha256:)" + hex +
                          R"(","size":7,"mediaType":"application/vnd.oci.image.index.v1+json")" + more +
                          "}]"),
            "x");
    };
    const std::string subject = R"(,"subject":"sha256:)" + hex + "\"";
    const auto annotated = [&](std::size_t count, std::size_t length) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i)
            all +=
                (i == 0 ? "\"" : ",\"") + std::to_string(100 + i) + "\":\"" + std::string(length, 'x') + "\"";
        return parsed(subject + ",\"annotations\":{" + all + "}");
    };
    EXPECT_TRUE(parsed(subject));
    EXPECT_TRUE(annotated(64, 61)) << "4096 bytes";
    EXPECT_FALSE(annotated(64, 62));
    EXPECT_FALSE(annotated(65, 1));
    EXPECT_FALSE(parsed(R"(,"subject":"sha256:../../etc/passwd")"));
    EXPECT_FALSE(parsed(subject + R"(,"annotations":{"a":1})"));
    EXPECT_FALSE(parsed(subject + R"(,"annotations":"a")"));
    EXPECT_FALSE(parsed(subject + R"(,"artifactType":")" + std::string(257, 'x') + "\""));
    EXPECT_FALSE(parsed(R"(,"artifactType":"of nothing")"));
}

TEST(BundleManifestTest, InvalidManifestsAreRefused) {
    const std::string image = R"([{"name":"docker.io/library/a:1","digest":"sha256:)" + hex +
                              R"(","size":7,"mediaType":"application/vnd.oci.image.index.v1+json"}])";
    ASSERT_TRUE(parse_bundle_manifest(text_with("[" + blob() + "]", image), "x"));
    const std::pair<std::string, std::string> rows[] = {
        {"", "not valid JSON"},
        {"[]", "not the manifest of a bundle"},
        {"{}", "not the manifest of a bundle"},
        {text_with("7"), "'members'"},
        {text_with("[7]"), "'members'"},
        {text_with("[[]]"), "'members'"},
        {text_with("[" + blob() + "," + blob() + "]"), "is listed twice"},
        {text_with("[" + blob(R"(,"path":"../etc/passwd")") + "]"), "not a valid path in a bundle"},
        {text_with("[" + blob(R"(,"path":"")") + "]"), "not a valid path in a bundle"},
        {text_with("[" + blob(R"(,"path":"index.json","absent":true)") + "]"), "must be present"},
        {text_with("[" + blob(R"(,"secret":1)") + "]"), "unknown key 'secret'"},
        {text_with("[" + blob(R"(,"hosts":"all")") + "]"), "'hosts'"},
        {text_with("[" + blob(R"(,"hosts":["a b"])") + "]"), "'hosts'"},
        {text_with("[" + blob(R"(,"hosts":["linux/amd64","gpu=h100"])") + "]"),
         "unknown condition 'gpu=h100'"},
        {text_with("[" + blob() + "]", "[]",
                   R"(,"artifacts":[{"kind":"packages","name":"../12","digest":"sha256:)" + hex +
                       R"(","size":7}])"),
         "invalid version, distribution, name or kernel"},
        {text_with("[" + blob() + "]", "[]",
                   R"(,"artifacts":[{"kind":"files","name":"../../etc","digest":"sha256:)" + hex +
                       R"(","size":7}])"),
         "invalid version, distribution, name or kernel"},
        {text_with(
             "[" + blob() + "]", "[]",
             R"(,"artifacts":[{"kind":"driver-packages","name":"550.163.01","flavour":"open","digest":"sha256:)" +
                 hex + R"(","size":7}])"),
         "an invalid flavour"},
        {text_with(R"([{"digest":"sha256:../x","size":1}])"), "not a sha256 digest"},
        {text_with(R"([{"digest":"sha256:)" + hex + R"(","size":-1}])"), "out of range"},
        {text_with(R"([{"digest":"sha256:)" + hex + R"(","size":1e30}])"), "not an integer"},
        {text_with("[]", image), "is not a member"},
        {text_with("[" + blob() + "]", "[7]"), "not an object"},
        {text_with("[" + blob() + "]", "{}"), "'images'"},
        {text_with("[]", "[]", R"(,"drivers":[])"), "unknown key 'drivers'"},
    };
    for (const auto& [text, why] : rows) {
        const auto read = parse_bundle_manifest(text, "site.bundle");
        ASSERT_FALSE(read) << text;
        EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
        EXPECT_EQ(read.error().message.find("site.bundle: "), 0U) << read.error().message;
    }
    std::string other = text_with("[]");
    other.replace(other.find("\"version\":1"), 11, "\"version\":2");
    EXPECT_EQ(parse_bundle_manifest(other, "x").error().code, Errc::Unsupported);
    for (const std::string& name :
         {std::string("Site"), std::string("../x"), std::string("-a"), std::string("a."), std::string(),
          std::string(65, 'a'), std::string("a b")})
        EXPECT_FALSE(is_bundle_name(name)) << name;
}

} // namespace
} // namespace gpuhost::images
