// SPDX-License-Identifier: Apache-2.0
// Layouts that tests may modify, and a host that imports them next to files that must not change.
#pragma once

#include "images/import/foreign_import.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/bundles.hpp"
#include "tests/unit/images/docker_archives.hpp"

#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace gpuhost::images {

namespace fs = std::filesystem;
using base::Errc;
using base::Json;
using base::Result;
using base::UniqueFd;
using tests::Packing;
using File = tests::Member;
using Type = File::Type;

inline constexpr const char* manifest_type = "application/vnd.oci.image.manifest.v1+json";
inline constexpr const char* index_type = "application/vnd.oci.image.index.v1+json";
inline constexpr const char* layer_type = "application/vnd.oci.image.layer.v1.tar";

/// Files of an OCI image layout, to be written as a directory or a tar.
struct Layout {
    std::vector<File> files;

    Json add(const std::string& content, const char* type) {
        const std::string hex = content::sha256(content);
        files.push_back({"blobs/sha256/" + hex, content});
        return {{"mediaType", type}, {"digest", "sha256:" + hex}, {"size", content.size()}};
    }
    Json manifest(const std::string& layer = "layer") {
        return {{"schemaVersion", 2},
                {"config", add("{}", "application/vnd.oci.image.config.v1+json")},
                {"layers", {add(layer, layer_type)}}};
    }
    /// Returns all files of a layout whose single image is this document.
    std::vector<File> with_image(const std::string& document, const char* type = manifest_type) {
        Json image = add(document, type);
        image["annotations"] = {{"io.containerd.image.name", "r.io/app:v1"}};
        files.push_back({"oci-layout", R"({"imageLayoutVersion":"1.0.0"})"});
        files.push_back({"index.json", base::dump({{"schemaVersion", 2}, {"manifests", {image}}})});
        return files;
    }
    std::vector<File> with_image() { return with_image(base::dump(manifest())); }
};

class HostileInput : public ::testing::Test {
  protected:
    HostileInput() {
        EXPECT_TRUE(trust_.add(site_.certificate, "site"));
        write_directory("outside", Layout().with_image()); // the targets of hostile links
    }
    void write_directory(const std::string& name, const std::vector<File>& files) const {
        for (const File& file : files) {
            const std::string path = name + "/" + file.path;
            fs::create_directories(fs::path(directory_.path(path)).parent_path());
            if (file.type == Type::Link)
                fs::create_symlink(file.target, directory_.path(path));
            else
                directory_.write(path, file.content);
        }
    }
    Result<BundleRecord> commit() {
        GPUHOST_TRY(received, received_bundle(root_));
        GPUHOST_TRY(record, commit_unsigned(root_, received.value(), host_));
        GPUHOST_CHECK(finalize_import(root_, received->digest));
        return std::move(record);
    }
    Result<BundleManifest> adopt(const std::string& file, const std::string& name = "airgap") {
        const UniqueFd fd(::open(directory_.path(file).c_str(), O_RDONLY | O_CLOEXEC));
        GPUHOST_TRY(adopted, add_foreign_images(root_, {fd.get(), file}, name, host_));
        return std::move(adopted.manifest);
    }
    Result<BundleManifest> adopt_tar(const std::string& tar, const std::string& name = "airgap") {
        directory_.write("in.tar", tar);
        return adopt("in.tar", name);
    }
    Result<void> receive(const tests::TestBundle& bundle, const tests::Identity& signer) {
        const UniqueFd fd = tests::memory_file(bundle.write(signer).value());
        GPUHOST_TRY(input, BundleInput::open({{fd.get(), "site.bundle"}}));
        GPUHOST_TRY(reader, BundleReader::open(std::move(input), trust_));
        GPUHOST_CHECK(plan_import(root_, reader.signed_manifest(), host_, {}));
        return receive_bundle(root_, reader, host_);
    }
    /// Returns all files but directories, on the host and next to it, with mode and content.
    [[nodiscard]] std::map<std::string, std::string> all_files() const {
        std::map<std::string, std::string> files;
        for (const char* below : {"host", "outside"})
            for (const auto& entry : fs::recursive_directory_iterator(directory_.path(below)))
                if (!entry.is_directory() || entry.is_symlink())
                    files[entry.path()] =
                        std::to_string(static_cast<unsigned>(entry.symlink_status().permissions())) + " " +
                        directory_.read(fs::relative(entry.path(), directory_.path()).string());
        return files;
    }

    tests::TempDir directory_;
    base::Root root_ = [this] {
        fs::create_directory(directory_.path("host"));
        return base::Root::open(directory_.path("host")).value();
    }();
    HostFacts host_{"linux/arm64", {}};
    tests::Identity site_ = tests::make_identity({});
    content::TrustAnchors trust_;
};

} // namespace gpuhost::images
