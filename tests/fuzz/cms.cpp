// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/cms.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    content::TrustAnchors trust;
    (void)trust.add(text, "input");
    fuzz::require(!content::verify_signed(text, content::TrustAnchors(), "input"),
                  "without a trust anchor no signature is accepted");
    (void)content::signed_content_unverified(text, "input");
    return 0;
}
