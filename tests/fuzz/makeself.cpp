// SPDX-License-Identifier: Apache-2.0
// Parses the script of a self-extracting archive, as driver import does.
#include "daemon/content/package/makeself.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto header = content::parse_makeself_header(fuzz::text_of(data, size), size, "input");
    if (!header)
        return 0;
    fuzz::require(header->offset <= size && header->size == size - header->offset,
                  "the archive is in the file");
    fuzz::require(header->summed <= header->offset, "checksums cover the archive from its start");
    fuzz::require(header->label.find('\n') == std::string::npos, "a label is one line");
    return 0;
}
