// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "kmod/store/manifest.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;

Manifest modules() {
    Manifest manifest;
    manifest.kind = SetKind::Modules;
    manifest.version = "550.163.01";
    manifest.kernel = "6.1.0-50-amd64";
    manifest.flavour = "open";
    manifest.files = {{"nvidia-drm.ko", "", false, 3, content::sha256("abc")},
                      {"nvidia.ko", "", false, 0, content::sha256("")}};
    manifest.modules = {
        {"nvidia_drm",
         "nvidia-drm.ko",
         "550.163.01",
         "A",
         "6.1.0-50-amd64 SMP",
         {"nvidia"},
         3,
         content::sha256("abc"),
         "Site modules"},
        {"nvidia", "nvidia.ko", "550.163.01", "B", "6.1.0-50-amd64 SMP", {}, 0, content::sha256(""), ""}};
    return manifest;
}

TEST(ManifestTest, RoundTripKeepsTheManifest) {
    const Manifest manifest = modules();
    const auto read = decode_manifest(encode(manifest), "manifest");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(encode(*read), encode(manifest));
    EXPECT_EQ(read->modules[0].sha256, content::sha256("abc"));
    EXPECT_EQ(read->modules[0].size, 3U);
    EXPECT_EQ(read->modules[0].signer, "Site modules");
    EXPECT_EQ(encode(manifest).find("signer"), encode(manifest).rfind("signer"))
        << "unsigned modules have no signer";
    EXPECT_EQ(set_place(*read), "550.163.01/modules/6.1.0-50-amd64-open");
}

TEST(ManifestTest, EachKindHasItsPath) {
    Manifest manifest;
    manifest.version = "535.261.03";
    EXPECT_EQ(set_place(manifest), "535.261.03/userland");
    manifest.kind = SetKind::Source;
    manifest.flavour = "proprietary";
    EXPECT_EQ(set_place(manifest), "535.261.03/source/proprietary");
}

/// Expects a refusal of a good manifest with this change.
void expect_refused(const std::function<void(Json&)>& change, const std::string& why) {
    Json value = base::parse_json(encode(modules()), "manifest").value();
    change(value);
    const auto read = decode_manifest(base::dump(value), "manifest");
    ASSERT_FALSE(read) << why;
    EXPECT_EQ(read.error().code, Errc::BadContent) << why;
}

TEST(ManifestTest, PathsOutsideTheStoreAreRefused) {
    expect_refused([](Json& v) { v["version"] = "../../etc"; }, "version");
    expect_refused([](Json& v) { v["kernel"] = "../6.1"; }, "kernel");
    expect_refused([](Json& v) { v["kernel"] = ""; }, "no kernel");
    expect_refused([](Json& v) { v["flavour"] = "../open"; }, "flavour");
    expect_refused([](Json& v) { v["kind"] = "selected"; }, "kind");
    expect_refused([](Json& v) { v["modules"][1]["signer"] = ""; }, "another text of the same set");
    expect_refused([](Json& v) { v["files"][0]["path"] = "../x"; }, "path");
    expect_refused([](Json& v) { v["files"][0]["path"] = "/x"; }, "absolute path");
    expect_refused([](Json& v) { v["files"][0]["path"] = "manifest.json"; }, "the manifest itself");
    expect_refused([](Json& v) { v["files"][0] = Json{{"path", "x"}, {"target", "../../x"}}; }, "link");
}

TEST(ManifestTest, ContradictionsAreRefused) {
    expect_refused([](Json& v) { v["modules"][0]["file"] = "absent.ko"; }, "module without file");
    expect_refused([](Json& v) { v["modules"].clear(); }, "no modules");
    expect_refused([](Json& v) { v["files"].clear(); }, "no files");
    expect_refused([](Json& v) { v["files"][0]["sha256"] = "short"; }, "digest");
    expect_refused([](Json& v) { v["files"][0]["mode"] = "4755"; }, "mode");
    expect_refused([](Json& v) { v["files"][0]["size"] = -1; }, "size");
    expect_refused([](Json& v) { v["more"] = 1; }, "an unknown key is not canonical");
    expect_refused([](Json& v) { v["files"] = "x"; }, "files of another type");
}

TEST(ManifestTest, OtherFormattingIsRefused) {
    EXPECT_FALSE(decode_manifest(encode(modules()) + "\n", "manifest"));
    EXPECT_FALSE(decode_manifest(" " + encode(modules()), "manifest"));
}

TEST(CheckSetTest, NamesEveryFileThatDiffers) {
    const tests::TempDir directory;
    directory.write("set/nvidia-drm.ko", "abc");
    directory.write("set/nvidia.ko", "");
    directory.write("set/manifest.json", encode(modules()));
    const base::Root root = directory.root();
    EXPECT_EQ(content::check_set(root, "/set").value(), std::vector<std::string>{});

    directory.write("set/nvidia-drm.ko", "abd");
    ASSERT_TRUE(root.remove("/set/nvidia.ko"));
    directory.write("set/extra", "x");
    EXPECT_EQ(content::check_set(root, "/set").value(),
              (std::vector<std::string>{"nvidia-drm.ko: digest mismatch", "nvidia.ko: is missing",
                                        "extra: is not in the manifest"}));
    directory.write("set/nvidia-drm.ko", "ab");
    directory.write("set/nvidia.ko", "");
    ASSERT_TRUE(root.remove("/set/extra"));
    EXPECT_EQ(content::check_set(root, "/set").value(),
              std::vector<std::string>{"nvidia-drm.ko: size mismatch (manifest: 3, found: 2)"});
    directory.write("set/nvidia-drm.ko", "abc");
    ASSERT_EQ(::chmod(directory.path("set/nvidia.ko").c_str(), 0755), 0);
    EXPECT_EQ(content::check_set(root, "/set").value(), std::vector<std::string>{"nvidia.ko: mode differs"});
}

} // namespace
} // namespace gpuhost::kmod
