// SPDX-License-Identifier: Apache-2.0
// Parses the command line against the table of verbs.
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
    /// Parses the words after the program's name. Fails with InvalidArgument at the first mistake; the hint
    /// names the most similar verb or option. With --help or --version, the number of arguments is not
    /// checked.
    [[nodiscard]] static base::Result<Arguments> parse(std::span<const std::string> words);

    /// Returns the verb; null if only --help or --version is given.
    [[nodiscard]] const Verb* verb() const { return verb_; }
    /// Returns the first word of the verb if --help is given without its second word: "driver" for
    /// 'gpuhostctl driver --help'.
    [[nodiscard]] const std::string& topic() const { return topic_; }
    [[nodiscard]] const std::vector<std::string>& words() const { return words_; } ///< the verb's arguments
    [[nodiscard]] bool has(const Option& option) const;
    [[nodiscard]] bool has(std::string_view name) const;
    /// Returns the last value given; "" for an omitted optional argument.
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

} // namespace gpuhost::ctl
