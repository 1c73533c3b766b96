// SPDX-License-Identifier: Apache-2.0
// Parses an RPM package as toolkit import does.
#include "daemon/content/package/rpm.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view image = fuzz::text_of(data, size);
    const auto header = content::parse_rpm_header(image, "input");
    if (!header)
        return 0;
    fuzz::require(header->payload <= size, "the payload starts inside of the package");
    fuzz::require(header->package.find('/') == std::string::npos, "a package's name is not a path");
    auto files =
        content::ArchiveReader::open(image.substr(header->payload), content::ArchiveFormat::Cpio, "input");
    for (unsigned entries = 0; files && entries < 1000; ++entries) {
        const auto entry = files->next();
        if (!entry || !*entry)
            break;
        fuzz::require(content::safe_relative_path((*entry)->path) == (*entry)->path,
                      "a path stays below the root");
        (void)files->digest();
    }
    return 0;
}
