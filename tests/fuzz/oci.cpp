// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/oci.hpp"

#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/reference.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto document = images::parse_document(text, "", "input"))
        for (const images::Descriptor& descriptor : document->content)
            fuzz::require(content::is_sha256(descriptor.hex), "a descriptor is named by its digest");
    if (const auto reference = images::parse_reference(text)) {
        const auto again = images::parse_reference(reference->text());
        fuzz::require(again && *again == *reference, "a normal name is its own normal form");
        fuzz::require(reference->text().find("..") == std::string::npos, "a name contains no '..'");
    }
    return 0;
}
