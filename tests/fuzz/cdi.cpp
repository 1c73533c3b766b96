// SPDX-License-Identifier: Apache-2.0
// Parses specifications of other tools, in JSON and in YAML.
#include "daemon/base/json.hpp"
#include "daemon/runtime/cdi/spec.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

namespace {

void check(const runtime::Spec& spec) {
    const auto again = runtime::spec_from_json(runtime::to_json(spec), "again");
    fuzz::require(again && *again == spec, "a specification is its own normal form");
    if (!runtime::spec_problems(spec).empty())
        return;
    fuzz::require(!spec.devices.empty(), "a valid specification has a device");
    for (const runtime::SpecDevice& device : spec.devices)
        fuzz::require(!device.name.empty() && device.name.find_first_of("=/ \n") == std::string::npos,
                      "a device's name is valid in a request");
    for (const runtime::SpecMount& mount : spec.edits.mounts)
        fuzz::require(mount.host_path.front() == '/' && mount.container_path.front() == '/',
                      "paths are absolute");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    for (const char* name : {"input.json", "input.yaml"})
        if (const auto spec = runtime::parse_spec(text, name))
            check(*spec);
    return 0;
}
