// SPDX-License-Identifier: Apache-2.0
// Label selectors: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

using Labels = std::map<std::string, std::string>;

class Selector {
  public:
    /// Parses kubectl's syntax: "a=b,c!=d,e,!f,g in (h,i),j notin (k)". Empty: matches everything.
    [[nodiscard]] static base::Result<Selector> parse(std::string_view text);
    /// Reads a text in the syntax of parse(), or a map of labels: {"tier": "canary"}.
    [[nodiscard]] static base::Result<Selector> read(const base::Json& value);

    [[nodiscard]] bool matches(const Labels& labels) const;
    [[nodiscard]] bool empty() const { return requirements_.empty(); }

  private:
    struct Requirement {
        std::string key;
        /// True: the object must have the label `key` with one of `values`. False: it must not have such a
        /// label.
        bool has = true;
        std::vector<std::string> values; ///< empty: any value
    };
    std::vector<Requirement> requirements_;
};

} // namespace gpuhost::cluster
