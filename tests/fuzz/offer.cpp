// SPDX-License-Identifier: Apache-2.0
// Parses offers to gpuhost-devices and its answers; derives the kubelet's resources and the Node's labels.
#include "daemon/devices/labels.hpp"
#include "daemon/devices/prefer.hpp"
#include "daemon/devices/resources.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <set>

using namespace gpuhost;

namespace {

void check(const devices::Resource& resource) {
    std::set<std::string> ids;
    for (const devices::ResourceDevice& device : resource.devices) {
        fuzz::require(ids.insert(device.id).second, "a device is listed once");
        fuzz::require(device.id.size() < 64, "the kubelet takes the device's id");
    }
    const auto chosen = devices::prefer(resource, ids, {}, 3);
    fuzz::require(chosen.size() == std::min<std::size_t>(3, ids.size()),
                  "all that is available can be chosen");
    fuzz::require(std::set(chosen.begin(), chosen.end()).size() == chosen.size(), "a device is chosen once");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto offer = devices::parse_offer(text)) {
        const auto again = devices::parse_offer(to_text(*offer));
        fuzz::require(again && *again == *offer, "an offer is its own normal form");
        for (const devices::Resource& resource : devices::resources_of(*offer))
            check(resource);
        for (const auto& [name, value] : devices::labels_of(*offer))
            fuzz::require(value.size() < 64 && !name.empty(), "Kubernetes takes the label's value");
    }
    if (const auto answer = devices::parse_answer(text)) {
        const auto again = devices::parse_answer(to_text(*answer));
        fuzz::require(again && *again == *answer, "an answer is its own normal form");
    }
    return 0;
}
