// SPDX-License-Identifier: Apache-2.0
// Writes metrics in Prometheus' text format 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::base {

class PrometheusText {
  public:
    using Labels = std::vector<std::pair<std::string_view, std::string>>;

    /// Begins a family, whose samples must follow. A family without samples leaves no text.
    void family(std::string_view name, std::string_view help, std::string_view type = "gauge");
    void sample(std::int64_t value, const Labels& labels = {});
    void ratio(double value, const Labels& labels = {}); ///< adds a sample from 0 to 1, with three decimals
    /// Adds a family with one sample and without labels.
    void one(std::string_view name, std::string_view help, std::int64_t value,
             std::string_view type = "gauge");

    std::string text;

  private:
    void add(const std::string& value, const Labels& labels);

    std::string name_;
    std::string header_; ///< of a family without a sample so far
};

} // namespace gpuhost::base
