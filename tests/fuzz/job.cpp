// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/job.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    (void)core::decode_event(text);
    const auto value = base::parse_json(text, "request.json");
    if (!value)
        return 0;
    const auto request = core::job_request_from_json(*value);
    if (!request)
        return 0;
    const auto written = core::to_json(*request);
    const auto again = core::job_request_from_json(written);
    fuzz::require(again && core::to_json(*again) == written, "a request can be written and read again");
    return 0;
}
