// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/initramfs.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/archive/archive.hpp"
#include "daemon/content/archive/newc.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/stat.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t block_size = std::size_t{1} << 20U;

/// Returns the module's name in the kernel's spelling: "nvidia_drm" for "nvidia-drm.ko.xz". Empty if the file
/// is not a module.
std::string module_name(std::string_view file) {
    constexpr std::array endings{".ko", ".ko.xz", ".ko.gz", ".ko.zst"};
    const auto ending = std::find_if(endings.begin(), endings.end(),
                                     [&](std::string_view known) { return base::ends_with(file, known); });
    if (ending == endings.end())
        return {};
    std::string name(file.substr(0, file.size() - std::string_view(*ending).size()));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// Returns true if the module is one of NVIDIA's driver, or nouveau. Debian's packages add "current",
/// "tesla_470" or "legacy_390xx" after "nvidia".
bool is_driver(std::string_view name) {
    constexpr std::string_view stem = "nvidia";
    if (!base::starts_with(name, stem))
        return name == "nouveau";
    const std::string_view rest = name.substr(stem.size());
    constexpr std::array parts{"", "_drm", "_fs", "_modeset", "_peermem", "_vgpu_vfio", "_uvm"};
    constexpr std::array kinds{"_current", "_tesla", "_legacy", "_open"};
    return std::find(parts.begin(), parts.end(), rest) != parts.end() ||
           std::any_of(kinds.begin(), kinds.end(),
                       [&](std::string_view kind) { return base::starts_with(rest, kind); });
}

class Image {
  public:
    Image(FilePart part, const std::string& what, const InitramfsLimits& limits)
        : part_(part), what_(what), limits_(limits) {}

    Result<std::vector<std::string>> read() {
        struct stat st {};
        if (::fstat(part_.fd, &st) < 0)
            return base::fail_errno(what_, errno);
        const auto size = static_cast<std::uint64_t>(st.st_size);
        part_.size = std::min(part_.size, size - std::min(part_.offset, size));
        if (!S_ISREG(st.st_mode) || part_.size > limits_.image_bytes)
            return base::fail(Errc::BadContent,
                              what_ + ": is not a regular file, or too large for an initramfs");
        GPUHOST_TRY(plain, read_plain());
        if (plain < part_.size)
            GPUHOST_CHECK(read_compressed(plain));
        return std::move(found_);
    }

  private:
    [[nodiscard]] NewcNames names() {
        return {what_, limits_.members, [this](const std::string& path) {
                    // The kernel also unpacks a path with "..", but no tool creates one, and nothing would
                    // load it.
                    if (auto inside = safe_relative_path(path); inside && claims_gpu(*inside))
                        found_.push_back(*std::move(inside));
                }};
    }

    /// Returns the offset at which the last uncompressed archive ends.
    Result<std::uint64_t> read_plain() {
        NewcNames plain = names();
        for (std::uint64_t offset = 0;;) {
            const auto most =
                static_cast<std::size_t>(std::min<std::uint64_t>(block_size, part_.size - offset));
            GPUHOST_TRY(block, base::read_at(part_.fd, part_.offset + offset, most, what_));
            GPUHOST_TRY(taken, plain.feed(block));
            offset += taken;
            if (block.empty() || taken < block.size()) {
                GPUHOST_CHECK(plain.finish());
                return offset;
            }
        }
    }

    Result<void> read_compressed(std::uint64_t offset) {
        ArchiveLimits limits;
        limits.entry_bytes = limits.total_bytes = limits_.unpacked_bytes;
        GPUHOST_TRY(reader,
                    ArchiveReader::open(FilePart{part_.fd, part_.offset + offset, part_.size - offset},
                                        ArchiveFormat::Raw, what_, limits));
        GPUHOST_TRY(member, reader.next());
        if (!member)
            return base::fail(Errc::BadContent, what_ + ": ends where a compressed archive begins");
        NewcNames packed = names();
        GPUHOST_CHECK(reader.consume([&](std::string_view block) -> Result<void> {
            GPUHOST_TRY(taken, packed.feed(block));
            if (taken == block.size())
                return {};
            return base::fail(Errc::Unsupported, what_ + ": unknown compression, or not an archive");
        }));
        return packed.finish();
    }

    FilePart part_;
    const std::string& what_;
    const InitramfsLimits& limits_;
    std::vector<std::string> found_;
};

} // namespace

bool claims_gpu(std::string_view path) {
    // A module's directory may be a link into /var/lib/gpuhost/driver. dracut then packs the link, and the
    // module at its target.
    for (const std::string_view top : {"usr/lib/modules/", "lib/modules/", "var/lib/gpuhost/driver/"})
        if (base::starts_with(path, top))
            return path.substr(top.size()).find('/') != std::string_view::npos &&
                   is_driver(module_name(path.substr(path.rfind('/') + 1)));
    return false;
}

Result<std::vector<std::string>> gpu_modules_of_initramfs(FilePart image, const std::string& what,
                                                          const InitramfsLimits& limits) {
    return Image(image, what, limits).read();
}

} // namespace gpuhost::content
