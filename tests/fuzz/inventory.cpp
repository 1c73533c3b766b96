// SPDX-License-Identifier: Apache-2.0
#include "images/create/inventory.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto word = images::parse_host_word(text))
        fuzz::require(images::parse_host_word(images::host_word(*word)).has_value(),
                      "the parts of a word form a valid word");
    const auto inventory = images::parse_inventory(text, "input");
    if (!inventory)
        return 0;
    const std::string written = images::to_text(*inventory);
    const auto again = images::parse_inventory(written, "its text");
    fuzz::require(again && images::to_text(*again) == written, "an inventory can be written and read again");
    fuzz::require(images::is_platform(inventory->facts().platform), "a host has a platform");
    for (const std::string& hex : inventory->blobs.list())
        fuzz::require(inventory->blobs.has(hex), "each listed blob is found");
    return 0;
}
