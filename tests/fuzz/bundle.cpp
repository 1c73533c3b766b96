// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/layout.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto bytes = images::manifest_size(text.substr(0, images::tar_block)))
        fuzz::require(images::manifest_header(*bytes) == text.substr(0, images::tar_block),
                      "a header has only one encoding");
    const auto manifest = images::parse_bundle_manifest(text, "input");
    if (!manifest)
        return 0;
    const auto again = images::parse_bundle_manifest(images::to_text(*manifest), "its text");
    fuzz::require(again && images::to_text(*again) == images::to_text(*manifest),
                  "a manifest can be written and read again");
    images::BundleLayout layout(size);
    for (const images::Member& member : manifest->members) {
        (void)layout.before(member);
        fuzz::require(layout.position() % images::data_alignment == 0, "data is aligned");
    }
    return 0;
}
