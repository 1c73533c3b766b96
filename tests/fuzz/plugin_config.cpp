// SPDX-License-Identifier: Apache-2.0
// Parses configuration files of NVIDIA's device plugin.
#include "daemon/devices/publish/plugin_config.hpp"

#include "daemon/base/json.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    devices::DevicesSettings settings;
    settings.resource = "nvidia.com/gpu";
    settings.config_file = "input";
    const auto config = devices::parse_plugin_config(fuzz::text_of(data, size), settings);
    for (const core::SettingsProblem& problem : config.problems) {
        const std::string line = core::to_string(problem);
        fuzz::require(std::all_of(line.begin(), line.end(),
                                  [](char c) { return static_cast<unsigned char>(c) >= ' '; }),
                      "a problem is one line");
    }
    if (!config.mistake().empty())
        return 0;
    const auto again = devices::sharing_from_json(to_json(config.sharing));
    fuzz::require(again && *again == config.sharing, "a sharing is its own normal form");
    return 0;
}
