// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/rate_limit.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/registry/registry.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using Code = RegistryErrorCode;

const std::string hex(64, 'a');
const std::string digest = "sha256:" + hex;

// --- requests

TEST(RegistryRequestTest, ParsesRegistryPaths) {
    struct Row {
        std::string target;
        Endpoint endpoint;
        std::string name, hex, tag;
    };
    const Row rows[] = {
        {"/v2/", Endpoint::Base, "", "", ""},
        {"/v2", Endpoint::Base, "", "", ""},
        {"/metrics", Endpoint::Metrics, "", "", ""},
        {"/v2/a/manifests/v1", Endpoint::Manifest, "a", "", "v1"},
        {"/v2/a/b/c/manifests/" + digest, Endpoint::Manifest, "a/b/c", hex, ""},
        {"/v2/a/manifests/sha256%3A" + hex, Endpoint::Manifest, "a", hex, ""},
        {"/v2/a/manifests/sha256%3a" + hex, Endpoint::Manifest, "a", hex, ""},
        {"/v2/a/blobs/" + digest, Endpoint::Blob, "a", hex, ""},
        {"/v2/blobs/manifests/tags/list", Endpoint::Tags, "blobs/manifests", "", ""},
        {"/v2/a/manifests/list/manifests/list", Endpoint::Manifest, "a/manifests/list", "", "list"},
        {"/v2/a/referrers/" + digest, Endpoint::Referrers, "a", hex, ""},
        {"http://127.0.0.1:299/v2/a/manifests/v1", Endpoint::Manifest, "a", "", "v1"},
        {"https://registry.example/v2/", Endpoint::Base, "", "", ""},
        {"/v2//a/manifests/v1", Endpoint::Manifest, "/a", "", "v1"},
        {"/v2/a/blobs/sha512:" + std::string(128, 'a'), Endpoint::Blob, "a", "", ""},
        {"/v2/../x/manifests/v1", Endpoint::Manifest, "../x", "", "v1"}, // names are checked later
    };
    for (const Row& row : rows) {
        const auto request = parse_registry_request(row.target);
        ASSERT_TRUE(request) << row.target << ": " << request.error().message;
        EXPECT_EQ(request->endpoint, row.endpoint) << row.target;
        EXPECT_EQ(request->name, row.name);
        EXPECT_EQ(request->hex, row.hex);
        EXPECT_EQ(request->tag, row.tag);
    }
    const auto request =
        parse_registry_request("/v2/a/tags/list?n=5&last=v1.0%2b&ns=r.io%3A5000&artifactType=a%2Fb+c&x=y&&z");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->most, 5U);
    EXPECT_EQ(request->last, "v1.0+");
    EXPECT_EQ(request->ns, "r.io:5000");
    EXPECT_EQ(request->artifact_type, "a/b+c") << "a plus sign, as in application/vnd.example+json";
}

TEST(RegistryRequestTest, OtherPathsAreRefused) {
    const std::tuple<std::string, unsigned, Code> rows[] = {
        {"", 404, Code::Unsupported},
        {"/", 404, Code::Unsupported},
        {"*", 404, Code::Unsupported},
        {"//v2/a/manifests/v1", 404, Code::Unsupported},
        {"/v1/a/manifests/v1", 404, Code::Unsupported},
        {"http://127.0.0.1", 404, Code::Unsupported},
        {"/v2/a/blobs/sha512:" + hex, 400, Code::DigestInvalid},
        {"/v2/_catalog", 404, Code::Unsupported},
        {"/v2/manifests/v1", 404, Code::Unsupported},
        {"/v2/a/tags/lists", 404, Code::Unsupported},
        {"/v2/a/blobs/uploads/", 404, Code::Unsupported},
        {"/metrics/", 404, Code::Unsupported},
        {"/v2/a/blobs/v1", 400, Code::DigestInvalid},
        {"/v2/a/blobs/sha256:" + std::string(64, 'A'), 400, Code::DigestInvalid},
        {"/v2/a/blobs/sha256:" + std::string(65, 'a'), 400, Code::DigestInvalid},
        {"/v2/a/blobs/sha256:../../../../etc/passwd", 404, Code::Unsupported},
        {"/v2/a/blobs/..", 400, Code::DigestInvalid},
        {"/v2/a/referrers/", 400, Code::DigestInvalid},
        {"/v2/a/manifests/", 400, Code::NameInvalid},
        {"/v2/a/manifests/-v1", 400, Code::NameInvalid},
        {"/v2/a/manifests/v%201", 400, Code::NameInvalid},
        {"/v2/a/manifests/" + std::string(129, 'v'), 400, Code::NameInvalid},
        {"/v2/a%00/manifests/v1", 400, Code::Unsupported},
        {"/v2/a%0a/manifests/v1", 400, Code::Unsupported},
        {"/v2/a%2/manifests/v1", 400, Code::Unsupported},
        {"/v2/a%", 400, Code::Unsupported},
        {"/v2/a/tags/list?n=-1", 400, Code::PageInvalid},
        {"/v2/a/tags/list?n=99999999999999999999", 400, Code::PageInvalid},
        {"/v2/a/tags/list?last=%0d%0a", 400, Code::Unsupported},
        {"/" + std::string(4096, 'a'), 414, Code::Unsupported},
    };
    for (const auto& [target, status, code] : rows) {
        const auto request = parse_registry_request(target);
        ASSERT_FALSE(request) << target;
        EXPECT_EQ(request.error().status, status) << target;
        EXPECT_EQ(request.error().code, code) << target;
    }
}

TEST(RegistryRequestTest, ReadsRanges) {
    using Kind = RangeRequest::Kind;
    struct Row {
        const char* header;
        Kind kind;
        std::uint64_t first, length; ///< of 100 bytes
    };
    const Row rows[] = {
        {"bytes=0-0", Kind::Part, 0, 1},
        {"bytes=0-99", Kind::Part, 0, 100},
        {"bytes=0-1000", Kind::Part, 0, 100},
        {"bytes=99-", Kind::Part, 99, 1},
        {"bytes=10-19", Kind::Part, 10, 10},
        {" bytes= 10 - 19 ", Kind::Part, 10, 10},
        {"bytes=-1", Kind::Part, 99, 1},
        {"bytes=-100", Kind::Part, 0, 100},
        {"bytes=-18446744073709551615", Kind::Part, 0, 100},
        {"bytes=100-", Kind::Outside, 0, 0},
        {"bytes=-0", Kind::Outside, 0, 0},
        {"bytes=18446744073709551615-", Kind::Outside, 0, 0},
        {"bytes=5-4", Kind::None, 0, 0},
        {"bytes=-", Kind::None, 0, 0},
        {"bytes=", Kind::None, 0, 0},
        {"bytes=a-b", Kind::None, 0, 0},
        {"bytes=1", Kind::None, 0, 0},
        {"bytes=0-1,3-4", Kind::None, 0, 0},
        {"bytes=0x1-2", Kind::None, 0, 0},
        {"bytes=+1-2", Kind::None, 0, 0},
        {"lines=1-2", Kind::None, 0, 0},
        {"", Kind::None, 0, 0},
        {"bytes=18446744073709551616-", Kind::None, 0, 0},
        {"bytes=1--2", Kind::None, 0, 0},
    };
    for (const Row& row : rows) {
        const RangeRequest range = parse_range(row.header, 100);
        EXPECT_EQ(range.kind, row.kind) << row.header;
        EXPECT_EQ(range.part.first, row.first) << row.header;
        EXPECT_EQ(range.part.length, row.length) << row.header;
    }
    for (const char* of_nothing : {"bytes=0-", "bytes=-1"})
        EXPECT_EQ(parse_range(of_nothing, 0).kind, Kind::Outside) << of_nothing;
}

TEST(RegistryRequestTest, MatchesEntityTags) {
    const std::string etag = "\"" + digest + "\"";
    for (const std::string& header : {etag, "W/" + etag, "\"x\", " + etag, std::string("*"), etag + ",\"y\""})
        EXPECT_TRUE(names_etag(header, etag)) << header;
    for (const std::string& header : {std::string(), digest, std::string("\"x\""), std::string(",,,")})
        EXPECT_FALSE(names_etag(header, etag)) << header;
}

TEST(RegistryRequestTest, ReadsPortsInPaths) {
    EXPECT_EQ(registry_of_component("docker.io"), "docker.io");
    EXPECT_EQ(registry_of_component("registry.example_5000"), "registry.example:5000");
    EXPECT_EQ(registry_of_component("a_b"), "a_b");
    EXPECT_EQ(registry_of_component("a_"), "a_");
    EXPECT_EQ(registry_of_component(""), "");
}

TEST(RegistryRequestTest, PrintableTextIsOneShortLine) {
    EXPECT_EQ(printable("a\nb\x1b[1m'\xff"), "a?b?[1m??");
    EXPECT_EQ(printable(std::string(300, 'a')), std::string(200, 'a') + "…");
}

TEST(RateLimitTest, ReportsTheNumberOfSuppressedMessages) {
    base::RateLimit limit(2, 100);
    EXPECT_EQ(limit.admit(1000), 0U);
    EXPECT_EQ(limit.admit(1001), 0U);
    EXPECT_FALSE(limit.admit(1002));
    EXPECT_FALSE(limit.admit(1099));
    EXPECT_EQ(limit.admit(1100), 2U);
    EXPECT_EQ(limit.admit(1101), 0U);
    EXPECT_FALSE(limit.admit(1102));
}

// --- answers

class RegistryTest : public ::testing::Test {
  protected:
    RegistryTest() {
        const std::string config = store(R"({"architecture":"amd64"})");
        const auto sized = [](const std::string& of, std::size_t size) {
            return R"({"digest":"sha256:)" + of + R"(","size":)" + std::to_string(size) + "}";
        };
        text_ = R"({"schemaVersion":2,"mediaType":")" + type_ + R"(","config":)" + sized(config, 24) +
                R"(,"layers":[]})";
        manifest_ = store(text_);
        layer_ = store("0123456789");
        put("one", 1,
            {{"r.io:5000/team/app:v1", manifest_, type_, text_.size(), {}},
             {"docker.io/library/busybox:latest", manifest_, type_, text_.size(), {}},
             {"docker.io/both/app:v1", manifest_, type_, text_.size(), {}},
             {"r.io:5000/both/app:v1", manifest_, type_, text_.size(), {}},
             {"r.io:5000/lost:v1", hex, type_, text_.size(), {}},
             {"r.io:5000/odd:v1", layer_, type_, 10, {}}});
    }
    std::string store(const std::string& content) const {
        const std::string name = content::sha256(content);
        directory_.write("var/lib/gpuhost/store/sha256/" + name, content);
        return name;
    }
    void put(const std::string& bundle, std::uint64_t created, std::vector<BundleImage> images) const {
        CatalogueEntry entry;
        entry.record.name = bundle;
        entry.record.created = created;
        entry.record.manifest = hex;
        entry.images = std::move(images);
        EXPECT_TRUE(Catalogue(root_).put(entry));
    }
    [[nodiscard]] RegistryAnswer get(const std::string& target, const std::string& range = {},
                                     const std::string& if_none_match = {}) {
        return registry_.answer({"GET", target, range, {}, if_none_match});
    }
    [[nodiscard]] static std::string header(const RegistryAnswer& answer, const std::string& name) {
        for (const auto& [key, value] : answer.headers)
            if (key == name)
                return value;
        return {};
    }
    [[nodiscard]] static std::string body(const RegistryAnswer& answer) {
        if (!answer.file)
            return answer.text;
        std::string text(answer.part.length, '\0');
        EXPECT_EQ(::pread(answer.file.get(), text.data(), text.size(), static_cast<off_t>(answer.part.first)),
                  static_cast<ssize_t>(text.size()));
        return text;
    }

    const std::string type_ = "application/vnd.oci.image.manifest.v1+json";
    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    Registry registry_{root_};
    std::string text_, manifest_, layer_;
};

TEST_F(RegistryTest, RepositoryIsFoundByEachName) {
    for (const char* target :
         {"/v2/team/app/manifests/v1?ns=r.io:5000", "/v2/r.io_5000/team/app/manifests/v1",
          "/v2/team/app/manifests/v1", "/v2/library/busybox/manifests/latest?ns=docker.io",
          "/v2/busybox/manifests/latest?ns=docker.io", "/v2/docker.io/library/busybox/manifests/latest",
          "/v2/docker.io/busybox/manifests/latest", "/v2/busybox/manifests/latest",
          "/v2/both/app/manifests/v1?ns=docker.io"}) {
        const auto answer = get(target);
        EXPECT_EQ(answer.status, 200U) << target << body(answer);
        EXPECT_EQ(body(answer), text_);
        EXPECT_EQ(header(answer, "Content-Type"), type_);
        EXPECT_TRUE(answer.why.empty());
    }
    for (const char* target :
         {"/v2/both/app/manifests/v1", "/v2/busybox/manifests/latest?ns=r.io:5000",
          "/v2/team/app/manifests/v1?ns=r.io", "/v2/r.io/team/app/manifests/v1", "/v2/app/manifests/v1",
          "/v2/library/app/manifests/v1?ns=../..", "/v2/r.io_5000/manifests/v1"}) {
        const auto answer = get(target);
        EXPECT_EQ(answer.status, 404U) << target;
        EXPECT_NE(body(answer).find("NAME_UNKNOWN"), std::string::npos) << body(answer);
        EXPECT_FALSE(answer.why.empty());
    }
    EXPECT_NE(get("/v2/both/app/manifests/v1").why.find("docker.io/both/app, r.io:5000/both/app"),
              std::string::npos);
}

TEST_F(RegistryTest, RangesOfBlobsAreServed) {
    const std::string target = "/v2/team/app/blobs/sha256:" + layer_;
    EXPECT_EQ(body(get(target)), "0123456789");
    const auto part = get(target, "bytes=2-4");
    EXPECT_EQ(part.status, 206U);
    EXPECT_EQ(body(part), "234");
    EXPECT_EQ(header(part, "Content-Range"), "bytes 2-4/10");
    const auto whole = get(target, "bytes=0-9");
    EXPECT_EQ(whole.status, 206U);
    EXPECT_EQ(header(whole, "Content-Range"), "bytes 0-9/10");
    EXPECT_EQ(get(target, "bytes=10-").status, 416U);
    EXPECT_EQ(get(target, "", "\"sha256:" + layer_ + "\"").status, 304U);
    EXPECT_EQ(registry_.answer({"HEAD", target, "bytes=2-4", {}, {}}).status, 200U)
        << "ranges apply only to GET";
    EXPECT_EQ(registry_.answer({"GET", target, "bytes=2-4", "\"other\"", {}}).status, 200U);
    EXPECT_EQ(registry_.answer({"GET", target, "bytes=2-4", "\"sha256:" + layer_ + "\"", {}}).status, 206U);
}

TEST_F(RegistryTest, LinksAndPipesInTheStoreAreRefused) {
    directory_.write("etc/passwd", "secret");
    const std::string link(64, 'b');
    const std::string pipe(64, 'c');
    const std::string blobs = directory_.path() + "/var/lib/gpuhost/store/sha256/";
    ASSERT_EQ(::symlink("../../../../../etc/passwd", (blobs + link).c_str()), 0);
    ASSERT_EQ(::mkfifo((blobs + pipe).c_str(), 0644), 0);
    for (const std::string& name : {link, pipe}) {
        const auto answer = get("/v2/team/app/blobs/sha256:" + name);
        EXPECT_EQ(answer.status, 500U) << name;
        EXPECT_FALSE(answer.file);
        EXPECT_FALSE(answer.why.empty());
    }
}

TEST_F(RegistryTest, MissingManifestHasAReason) {
    const auto lost = get("/v2/lost/manifests/v1");
    EXPECT_EQ(lost.status, 404U);
    EXPECT_NE(lost.why.find("sha256:" + hex + ", listed in bundle 'one'"), std::string::npos) << lost.why;
    const auto odd = get("/v2/odd/manifests/v1");
    EXPECT_EQ(odd.status, 404U);
    EXPECT_NE(odd.why.find("is not a manifest"), std::string::npos) << odd.why;
    const std::string large = store(std::string((4U << 20U) + 1, ' '));
    EXPECT_EQ(get("/v2/team/app/manifests/sha256:" + large).status, 404U);
}

TEST_F(RegistryTest, LargeManifestIsSentFromItsFile) {
    const std::string text = text_ + std::string(300'000, ' ');
    const auto answer = get("/v2/team/app/manifests/sha256:" + store(text));
    EXPECT_EQ(answer.status, 200U);
    EXPECT_TRUE(answer.file);
    EXPECT_TRUE(answer.text.empty());
    EXPECT_EQ(answer.length(), text.size());
    EXPECT_EQ(header(answer, "Content-Type"), type_);
}

TEST_F(RegistryTest, OtherDigestAlgorithmsAreNotFound) {
    const std::string sha512 = "sha512:" + std::string(128, 'a');
    EXPECT_NE(body(get("/v2/team/app/blobs/" + sha512)).find("BLOB_UNKNOWN"), std::string::npos);
    EXPECT_EQ(get("/v2/team/app/blobs/" + sha512).status, 404U);
    EXPECT_NE(body(get("/v2/team/app/manifests/" + sha512)).find("MANIFEST_UNKNOWN"), std::string::npos);
    EXPECT_EQ(get("/v2/team/app/manifests/" + sha512).status, 404U);
    EXPECT_EQ(get("/v2/team/app/referrers/" + sha512).status, 200U);
}

TEST_F(RegistryTest, EmptyNameComponentsAreRefused) {
    for (const char* target :
         {"/v2//team/app/manifests/v1", "/v2/team//app/manifests/v1", "/v2/team/app//manifests/v1"}) {
        const auto answer = get(target);
        EXPECT_EQ(answer.status, 400U) << target;
        EXPECT_NE(body(answer).find("NAME_INVALID"), std::string::npos) << target;
    }
}

TEST_F(RegistryTest, ListsAndErrorsAreJson) {
    for (const char* target :
         {"/v2/", "/v2/team/app/tags/list", "/v2/team/app/manifests/v9", "/v2/x/tags/list?n=x"}) {
        const auto answer = get(target);
        EXPECT_TRUE(base::parse_json(body(answer), target)) << body(answer);
        EXPECT_EQ(header(answer, "Content-Type"), "application/json");
        EXPECT_EQ(header(answer, "Docker-Distribution-Api-Version"), "registry/2.0");
    }
}

TEST_F(RegistryTest, NextPageLinkIsEscaped) {
    put("two", 2,
        {{"r.io:5000/many:a", manifest_, type_, 1, {}}, {"r.io:5000/many:b", manifest_, type_, 1, {}}});
    EXPECT_EQ(header(get("/v2/many/tags/list?n=1&ns=r.io:5000"), "Link"),
              "</v2/many/tags/list?n=1&last=a&ns=r.io:5000>; rel=\"next\"");
    EXPECT_EQ(header(get("/v2/many/tags/list?n=1&last=a"), "Link"), "");
    EXPECT_EQ(header(get("/v2/many/tags/list"), "Link"), "");
}

TEST_F(RegistryTest, WritingMethodsAreRefused) {
    for (const char* method : {"PUT", "POST", "PATCH", "DELETE", "OPTIONS", "", "get"}) {
        const auto answer = registry_.answer({method, "/v2/team/app/manifests/v1", {}, {}, {}});
        EXPECT_EQ(answer.status, 405U) << method;
        EXPECT_EQ(header(answer, "Allow"), "GET, HEAD");
    }
    EXPECT_EQ(registry_.answer({"POST", "/v2/team/app/blobs/uploads/", {}, {}, {}}).status, 405U)
        << "the method is checked before the path";
}

TEST_F(RegistryTest, OnlyReferrersInTheStoreAreListed) {
    BundleImage signature{"", store("{}"), type_, 2, {}, manifest_, "type/a", {{"by", "us"}}};
    BundleImage elsewhere{"", std::string(64, 'd'), type_, 2, {}, manifest_, "type/a", {}};
    put("signed", 2, {signature, elsewhere});
    const auto list = base::parse_json(body(get("/v2/team/app/referrers/sha256:" + manifest_)), "x");
    ASSERT_TRUE(list);
    ASSERT_EQ(base::member(*list, "manifests").size(), 1U);
    EXPECT_EQ((*list)["manifests"][0]["digest"], "sha256:" + signature.hex);
    EXPECT_EQ((*list)["manifests"][0]["annotations"]["by"], "us");
    const auto other = base::parse_json(body(get("/v2/unknown/referrers/sha256:" + manifest_)), "x");
    ASSERT_TRUE(other);
    EXPECT_TRUE((*other)["manifests"].empty()) << "an unknown repository has no referrers";
}

} // namespace
} // namespace gpuhost::images
