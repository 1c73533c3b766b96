// SPDX-License-Identifier: Apache-2.0
// Reads foreign archives next to a file that must not change.
#pragma once

#include "images/foreign/docker.hpp"
#include "images/foreign/foreign.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/docker_archives.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace gpuhost::images {

inline constexpr const char* manifest_type = "application/vnd.oci.image.manifest.v1+json";

class Foreign : public ::testing::Test {
  protected:
    ~Foreign() override {
        EXPECT_EQ(directory_.root().list("/").value(), std::vector<std::string>{"kept"})
            << "reading creates no named file";
        EXPECT_EQ(directory_.read("kept"), "as it was");
    }

    [[nodiscard]] base::Result<Document> read(const std::string& tar,
                                              const content::ArchiveLimits& limits = image_archive_limits) {
        auto spool = Spool::create(directory_.path());
        if (!spool)
            return base::fail(spool.error());
        blobs_ = std::make_unique<Spool>(*std::move(spool));
        GPUHOST_TRY(reader, content::ArchiveReader::open(tar, content::ArchiveFormat::Tar, "input", limits));
        return read_image_archive(std::move(reader), "input", *blobs_);
    }
    void expect_refused(const std::string& tar, const std::string& reason,
                        base::Errc code = base::Errc::BadContent) {
        const auto index = read(tar);
        ASSERT_FALSE(index) << "expected: " << reason;
        EXPECT_EQ(index.error().code, code) << index.error().message;
        EXPECT_EQ(index.error().message.find("input: "), 0U) << index.error().message;
        EXPECT_NE(index.error().message.find(reason), std::string::npos) << index.error().message;
    }
    [[nodiscard]] std::string blob(const std::string& hex) const {
        return read_blob(*blobs_, hex, 1U << 20U).value_or("");
    }
    [[nodiscard]] std::vector<std::string> layer_types(const Document& index) const {
        std::vector<std::string> types;
        const auto manifest = parse_document(blob(index.content[0].hex), manifest_type, "manifest");
        for (std::size_t i = 1; manifest && i < manifest->content.size(); ++i)
            types.push_back(manifest->content[i].media_type);
        return types;
    }

    tests::TempDir directory_;
    std::unique_ptr<Spool> blobs_;

    void SetUp() override { directory_.write("kept", "as it was"); }
};

} // namespace gpuhost::images
