// SPDX-License-Identifier: Apache-2.0
#include "images/registry_settings.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::images {
namespace {

using core::SettingKey;
using core::SettingType;

constexpr std::uint64_t most_connections = 10'000; ///< each has a buffer and a descriptor

std::string connections_mistake(std::string_view value) {
    const auto number = base::parse_uint(value);
    return number && *number >= 1 && *number <= most_connections
               ? ""
               : "not from 1 to " + std::to_string(most_connections);
}

constexpr std::array keys{
    SettingKey{"Registry", "IdleTimeout", SettingType::Span, "1min", "",
               "time without a connection after which the registry exits"},
    SettingKey{"Registry", "Connections", SettingType::Unsigned, "256", "",
               "limit of concurrent connections to the registry", "", connections_mistake},
};

} // namespace

std::span<const SettingKey> registry_setting_keys() {
    return keys;
}

RegistrySettings registry_settings(const core::Settings& settings) {
    const std::uint64_t connections = settings.number("Registry", "Connections");
    return {settings.span("Registry", "IdleTimeout"),
            static_cast<unsigned>(std::clamp<std::uint64_t>(connections, 1, most_connections))};
}

} // namespace gpuhost::images
