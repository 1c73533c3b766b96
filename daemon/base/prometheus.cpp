// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/prometheus.hpp"

namespace gpuhost::base {
namespace {

std::string escaped(const std::string& text) {
    std::string made;
    for (const char c : text) {
        if (c == '"' || c == '\\' || c == '\n')
            made += '\\';
        made += c == '\n' ? 'n' : c;
    }
    return made;
}

} // namespace

void PrometheusText::family(std::string_view name, std::string_view help, std::string_view type) {
    name_ = name;
    text +=
        "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " + std::string(type) + "\n";
}

void PrometheusText::sample(std::int64_t value, const Labels& labels) {
    text += name_;
    for (std::size_t i = 0; i < labels.size(); ++i)
        text +=
            (i == 0 ? "{" : ",") + std::string(labels[i].first) + "=\"" + escaped(labels[i].second) + "\"";
    text += (labels.empty() ? " " : "} ") + std::to_string(value) + "\n";
}

void PrometheusText::one(std::string_view name, std::string_view help, std::int64_t value,
                         std::string_view type) {
    family(name, help, type);
    sample(value);
}

} // namespace gpuhost::base
