// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/unified_image.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/archive/pe_sections.hpp"

#include <algorithm>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t longest_release = 256;

std::vector<PeSection> named(const std::vector<PeSection>& sections, std::string_view name) {
    std::vector<PeSection> found;
    std::copy_if(sections.begin(), sections.end(), std::back_inserter(found),
                 [&](const PeSection& section) { return section.name == name; });
    return found;
}

/// Returns true if the image is for `kernel` according to its section .uname. Also returns true if the image
/// does not have this section, because the caller has selected the file by its name.
Result<bool> is_of(int fd, const std::vector<PeSection>& sections, const std::string& kernel,
                   const std::string& what) {
    const std::vector<PeSection> words = named(sections, ".uname");
    for (const PeSection& word : words) {
        GPUHOST_TRY(release,
                    base::read_at(fd, word.offset, std::min<std::size_t>(word.size, longest_release), what));
        if (base::trim(std::string_view(release).substr(0, release.find('\0'))) == kernel)
            return true;
    }
    return words.empty();
}

} // namespace

Result<std::vector<std::string>> gpu_modules_of_unified_image(int fd, const std::string& kernel,
                                                              const std::string& what,
                                                              const InitramfsLimits& limits) {
    GPUHOST_TRY(sections, read_pe_sections(fd, what));
    std::vector<std::string> found;
    GPUHOST_TRY(is_its, is_of(fd, sections, kernel, what));
    if (!is_its)
        return found;
    const std::vector<PeSection> images = named(sections, ".initrd");
    if (images.size() > most_profiles)
        return base::fail(Errc::BadContent, what + ": has too many images");
    for (const PeSection& image : images) {
        GPUHOST_TRY(modules, gpu_modules_of_initramfs(FilePart{fd, image.offset, image.size}, what, limits));
        found.insert(found.end(), modules.begin(), modules.end());
    }
    return found;
}

} // namespace gpuhost::content
