// SPDX-License-Identifier: Apache-2.0
// Parses an archive of images as an import does, and a separate manifest.json.
#include "images/foreign/foreign.hpp"

#include "images/foreign/docker.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <map>

#include <sys/mman.h>

using namespace gpuhost;

namespace {

constexpr content::ArchiveLimits limits{100, 1U << 20U, 4U << 20U, 256};

/// A store of blobs in memory.
class Memory : public images::BlobSink {
  public:
    base::Result<content::FileDigest> add(std::uint64_t, const Write& write) override {
        base::UniqueFd fd(::memfd_create("blob", MFD_CLOEXEC));
        GPUHOST_TRY(written, write(fd.get()));
        sizes_[written.sha256] = written.size;
        files_[written.sha256] = std::move(fd);
        return std::move(written);
    }
    base::Result<images::BlobBytes> open(const std::string& hex) const override {
        const auto file = files_.find(hex);
        if (file == files_.end())
            return base::fail(base::Errc::NotFound, hex);
        return images::BlobBytes{base::UniqueFd(::dup(file->second.get())), 0, sizes_.at(hex)};
    }

  private:
    std::map<std::string, base::UniqueFd> files_;
    std::map<std::string, std::uint64_t> sizes_;
};

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto parsed = images::parse_docker_manifest(text))
        for (const images::DockerImage& image : *parsed)
            fuzz::require(image.layers.size() <= 1'000, "the number of layers is bounded");
    auto reader = content::ArchiveReader::open(text, content::ArchiveFormat::Tar, "input", limits);
    if (!reader)
        return 0;
    Memory blobs;
    const auto index = images::read_image_archive(*std::move(reader), "input", blobs);
    if (!index)
        return 0;
    fuzz::require(index->index, "the result is an index");
    for (const images::Descriptor& image : index->content) {
        fuzz::require(content::is_sha256(image.hex), "an image is named by its digest");
        if (const auto blob = blobs.open(image.hex); blob && blob->size <= images::document_limit)
            fuzz::require(images::read_blob(blobs, image.hex, images::document_limit).has_value(),
                          "a blob matches its digest");
    }
    return 0;
}
