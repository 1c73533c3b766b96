// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/redact.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

/// A planted secret is masked in any context.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(fuzz::text_of(data, size));
    const std::string secret = "hunter2planted";
    fuzz::require(text.find(secret) != std::string::npos ||
                      ctl::redact(text + "\npassword: " + secret + " " + text).find(secret) ==
                          std::string::npos,
                  "a secret is masked");
    fuzz::require(ctl::redact(text).size() <= (text.size() + 1) * ctl::mask.size(), "masks are short");
    return 0;
}
