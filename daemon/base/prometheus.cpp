// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/prometheus.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

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
    header_ =
        "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " + std::string(type) + "\n";
}

void PrometheusText::sample(std::int64_t value, const Labels& labels) {
    add(std::to_string(value), labels);
}

void PrometheusText::ratio(double value, const Labels& labels) {
    std::array<char, 32> digits{}; // printf() would write the decimal point of the locale
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed, 3);
    add(std::string(digits.begin(), error == std::errc() ? end : digits.begin()), labels);
}

void PrometheusText::add(const std::string& value, const Labels& labels) {
    text += std::exchange(header_, {}) + name_;
    for (std::size_t i = 0; i < labels.size(); ++i)
        text +=
            (i == 0 ? "{" : ",") + std::string(labels[i].first) + "=\"" + escaped(labels[i].second) + "\"";
    text += (labels.empty() ? " " : "} ") + value + "\n";
}

void PrometheusText::one(std::string_view name, std::string_view help, std::int64_t value,
                         std::string_view type) {
    family(name, help, type);
    sample(value);
}

} // namespace gpuhost::base
