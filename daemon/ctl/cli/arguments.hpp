// SPDX-License-Identifier: Apache-2.0
// The command line, read against the table of verbs.
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

class Arguments {
  public:
    /// `words` without the program's name. The first thing that is wrong is an InvalidArgument whose hint
    /// names the nearest verb or option. With --help or --version the number of arguments is not looked at.
    [[nodiscard]] static base::Result<Arguments> parse(std::span<const std::string> words);

    /// Null: none was given and --help or --version was.
    [[nodiscard]] const Verb* verb() const { return verb_; }
    /// With --help and half a verb, as in 'gpuhostctl driver --help': that half.
    [[nodiscard]] const std::string& topic() const { return topic_; }
    [[nodiscard]] const std::vector<std::string>& words() const { return words_; } ///< the verb's arguments
    [[nodiscard]] bool has(const Option& option) const;
    [[nodiscard]] bool has(std::string_view name) const;
    /// The last one given; "" for an optional argument that was left out.
    [[nodiscard]] std::optional<std::string> value(const Option& option) const;
    [[nodiscard]] std::vector<std::string> values(const Option& option) const;

  private:
    struct Given {
        std::string_view name;
        std::string value;
    };
    [[nodiscard]] base::Result<void> choose_verb(const std::vector<std::string>& plain);
    [[nodiscard]] base::Result<void> check_options(const std::vector<std::string>& unknown) const;
    [[nodiscard]] base::Result<void> check_count() const;

    const Verb* verb_ = nullptr;
    std::string topic_;
    std::vector<Given> given_;
    std::vector<std::string> words_;
};

/// The candidate nearest to a mistyped word, or empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

} // namespace gpuhost::ctl
