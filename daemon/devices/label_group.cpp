// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/label_group.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gpuhost::devices {

namespace {

constexpr std::size_t longest_value = 63;

bool is_alphanumeric(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Cuts a value so that Kubernetes accepts it: it must begin and end with a letter or digit.
std::string guarded(std::string value) {
    value.erase(value.begin(), std::find_if(value.begin(), value.end(), is_alphanumeric));
    value.resize(std::min(value.size(), longest_value));
    value.erase(std::find_if(value.rbegin(), value.rend(), is_alphanumeric).base(), value.end());
    return value;
}

} // namespace

std::string sanitised(std::string_view text) {
    std::string made;
    bool gap = false;
    for (const char c : text) {
        if (c == ' ') {
            gap = !made.empty();
            continue;
        }
        if (!is_alphanumeric(c) && c != '-' && c != '_' && c != '.')
            continue;
        if (std::exchange(gap, false))
            made += '-';
        made += c;
    }
    return made;
}

void LabelGroup::set(std::string_view name, std::string value) {
    labels_[resource_ + "." + std::string(name)] = guarded(std::move(value));
}

void LabelGroup::set_number(std::size_t count, unsigned replicas, const char* strategy) {
    set("count", count);
    set("replicas", replicas);
    set("sharing-strategy", strategy);
}

void LabelGroup::set_devices(std::string product, std::size_t count, const Sharing& sharing,
                             std::string_view resource) {
    const unsigned replicas = replicas_of(sharing, resource);
    set("product", std::move(product) + (replicas > 1 && !sharing.renamed ? "-SHARED" : ""));
    set_number(count, replicas, replicas > 1 ? "time-slicing" : "none");
}

} // namespace gpuhost::devices
