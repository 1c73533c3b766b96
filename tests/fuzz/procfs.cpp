// SPDX-License-Identifier: Apache-2.0
// Parses files of procfs and kernels, which contain text of other processes and containers.
#include "kmod/device/devices.hpp"
#include "kmod/holder/parse.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/module/symbol_versions.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    const kmod::Origin origin = kmod::parse_cgroup(text);
    fuzz::require(origin.container.empty() || origin.container.size() == 64, "a container's ID is complete");
    fuzz::require(origin.unit.find('/') == std::string::npos, "a unit's name is not a path");
    for (const kmod::Mapping& mapping : kmod::parse_maps(text))
        fuzz::require(!mapping.path.empty() && mapping.path.front() == '/', "a mapping has a path");
    for (const kmod::CharDriver& driver : kmod::parse_char_drivers(text))
        fuzz::require(!driver.name.empty(), "a driver has a name");
    for (const auto& [name, crc] : kmod::parse_symvers(text))
        fuzz::require(name.find('\n') == std::string::npos && crc <= 0xffffffffU,
                      "a symbol's name is one line");
    (void)kmod::parse_device_rules(text);
    (void)kmod::parse_gpu_minor(text);
    return 0;
}
