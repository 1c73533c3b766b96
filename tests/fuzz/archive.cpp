// SPDX-License-Identifier: Apache-2.0
// Parses a package as driver import does: an archive of members, with a tar as one member.
#include "daemon/content/archive/archive.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;
using content::ArchiveFormat;
using content::ArchiveReader;

namespace {

constexpr content::ArchiveLimits limits{100, 1U << 20U, 4U << 20U, 256};

void walk(ArchiveReader& reader, bool nested) {
    for (std::uint64_t entries = 0;; ++entries) {
        const auto entry = reader.next();
        if (!entry || !*entry)
            return;
        fuzz::require(entries < limits.entries, "the number of members is bounded");
        const auto& path = (*entry)->path;
        fuzz::require(path.empty() || content::safe_relative_path(path) == path,
                      "a member's path stays below the root");
        if (nested) {
            auto inner = ArchiveReader::open(reader, ArchiveFormat::Tar, "member", limits);
            if (inner)
                walk(*inner, false);
        } else if (const auto text = reader.read_all(limits.entry_bytes)) {
            fuzz::require(text->size() <= limits.entry_bytes, "a member's size is bounded");
        }
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    for (const auto format : {ArchiveFormat::Ar, ArchiveFormat::Tar, ArchiveFormat::Raw}) {
        auto reader = ArchiveReader::open(text, format, "input", limits);
        if (reader)
            walk(*reader, format == ArchiveFormat::Ar);
    }
    return 0;
}
