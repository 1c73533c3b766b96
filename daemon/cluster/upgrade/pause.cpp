// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/cluster/upgrade/upgrade.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::cluster {
namespace {

constexpr std::string_view mark = "paused-for-driver-upgrade";

/// The operands that k8s-driver-manager pauses; "driver" itself is not among them.
constexpr std::array<std::string_view, 16> operands{
    "operator-validator",
    "container-toolkit",
    "device-plugin",
    "gpu-feature-discovery",
    "dcgm-exporter",
    "dcgm",
    "mig-manager",
    "nvsm",
    "sandbox-validator",
    "client",
    "sandbox-device-plugin",
    "vgpu-device-manager",
    "dra-driver",
    "dra-validator",
    "dcgm-dra",
    "dcgm-exporter-dra",
};

template <typename Change>
Labels changed(const Labels& labels, Change change) {
    Labels others;
    for (const std::string_view operand : operands)
        if (const auto label = labels.find(key::deploy_prefix + std::string(operand)); label != labels.end())
            if (const std::string value = change(label->second); value != label->second)
                others[label->first] = value;
    return others;
}

} // namespace

bool is_paused_by(std::string_view label) {
    return base::starts_with(label, key::deploy_prefix) &&
           std::find(operands.begin(), operands.end(),
                     label.substr(std::string_view(key::deploy_prefix).size())) != operands.end();
}

std::map<std::string, std::string> paused(const Labels& labels) {
    return changed(labels, [](const std::string& value) -> std::string {
        if (value.empty() || value == "false" || base::ends_with(value, mark))
            return value;
        return value == "true" ? std::string(mark) : value + "_" + std::string(mark);
    });
}

std::map<std::string, std::string> unpaused(const Labels& labels) {
    return changed(labels, [](const std::string& value) -> std::string {
        if (value == mark)
            return "true";
        const std::string tail = "_" + std::string(mark);
        return base::ends_with(value, tail) ? value.substr(0, value.size() - tail.size()) : value;
    });
}

} // namespace gpuhost::cluster
