// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/arguments.hpp"

#include "daemon/base/nearest.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/former_verbs.hpp"
#include "daemon/ctl/cli/verb.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

std::string quote(std::string_view word) {
    return "'" + std::string(word) + "'";
}

tl::unexpected<base::Error> wrong(std::string message, std::string hint) {
    return base::fail(Errc::InvalidArgument, std::move(message), std::move(hint));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view otherwise) {
    const std::string near = base::nearest(word, candidates);
    return near.empty() ? std::string(otherwise) : "Did you mean " + quote(near) + "?";
}

std::string help_of(const Verb* verb) {
    return "See: gpuhostctl " + (verb == nullptr ? "" : std::string(verb->name) + " ") + "--help.";
}

/// Returns the options of all verbs: options may precede the verb, so words are split before the verb is
/// known.
std::vector<const Option*> all_options() {
    std::vector<const Option*> options;
    for (const Option& option : common_options())
        options.push_back(&option);
    for (const Verb* verb : verbs())
        for (const Option& option : verb->options)
            options.push_back(&option);
    return options;
}

std::string dashed(const Option& option) {
    return "--" + std::string(option.name);
}

/// Finds an option by its full name, such as "--help", or by its letter, such as "-h". Does not accept
/// abbreviations, because a new option could make an abbreviation in a script ambiguous.
const Option* find_option(const std::vector<const Option*>& options, std::string_view name) {
    const auto it = std::find_if(options.begin(), options.end(), [&](const Option* option) {
        return name == dashed(*option) ||
               (name.size() == 2 && option->letter != 0 && name[1] == option->letter);
    });
    return it == options.end() ? nullptr : *it;
}

/// An option as written: "--kernel" or "-k", with the value if it is in the same word.
using Written = std::pair<std::string, std::optional<std::string>>;

/// Splits "--name=value", "-qj" and "-kVALUE". An optional value is possible only after a long name.
std::vector<Written> split_option(const std::string& word, const std::vector<const Option*>& known) {
    if (base::starts_with(word, "--")) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos)
            return {{word, std::nullopt}};
        return {{word.substr(0, equals), word.substr(equals + 1)}};
    }
    std::vector<Written> all;
    for (std::size_t i = 1; i < word.size(); ++i) {
        all.push_back({std::string{'-', word[i]}, std::nullopt});
        const Option* const option = find_option(known, all.back().first);
        if (option == nullptr || option->argument.empty() || option->argument_optional ||
            i + 1 == word.size())
            continue;
        all.back().second = word.substr(i + 1);
        break;
    }
    return all;
}

std::vector<const Option*> options_of(const Verb& verb) {
    std::vector<const Option*> options;
    for (const Option& option : verb.options)
        options.push_back(&option);
    for (const Option& option : common_options())
        options.push_back(&option);
    return options;
}

std::vector<std::string> dashed(const std::vector<const Option*>& options) {
    std::vector<std::string> names;
    names.reserve(options.size());
    for (const Option* option : options)
        names.push_back(dashed(*option));
    return names;
}

Result<void> check_value(const Option& option, const std::optional<std::string>& value) {
    const std::string name = quote(dashed(option));
    const std::string write = "Write: " + dashed(option) + "=" + std::string(option.argument) + ".";
    if (option.argument.empty())
        return value ? wrong("option " + name + " does not accept a value", "Write: " + dashed(option) + ".")
                     : Result<void>{};
    if (!value)
        return option.argument_optional ? Result<void>{} : wrong("option " + name + " needs a value", write);
    if (value->empty())
        return wrong("option " + name + " has an empty value", write);
    const auto choices = base::split(option.argument, '|');
    if (!is_choice(option) || std::find(choices.begin(), choices.end(), *value) != choices.end())
        return {};
    return wrong("wrong value " + quote(*value) + " for " + name,
                 did_you_mean(*value, choices, "Use one of: " + base::join(choices, ", ") + "."));
}

/// Returns the second words of the verbs that begin with `first`.
std::vector<std::string> verbs_below(std::string_view first) {
    std::vector<std::string> seconds;
    for (const Verb* verb : verbs())
        if (base::starts_with(verb->name, std::string(first) + " "))
            seconds.emplace_back(verb->name.substr(first.size() + 1));
    return seconds;
}

/// Returns a hint that fits on a line of 80 columns: the verbs below `first`, or where to read them.
std::string one_of(std::string_view first, const std::vector<std::string>& seconds) {
    constexpr std::size_t most = 80 - std::string_view("Hint: ").size();
    const std::string all = "Use one of: " + base::join(seconds, ", ") + ".";
    return all.size() <= most ? all : "List its verbs: gpuhostctl help " + std::string(first) + ".";
}

tl::unexpected<base::Error> unknown_verb(const std::vector<std::string>& plain) {
    if (base::starts_with(plain[0], "gpuhost")) // as in "gpuhostctl help gpuhost-bundle"
        return wrong(quote(plain[0]) + " is not a verb",
                     "Read the manual page: man " + plain[0].substr(0, plain[0].find('(')) + ".");
    const auto seconds = verbs_below(plain[0]);
    if (!seconds.empty() && plain.size() == 1)
        return wrong(quote(plain[0]) + " needs a verb", one_of(plain[0], seconds));
    if (!seconds.empty())
        return wrong("unknown verb " + quote(plain[0] + " " + plain[1]),
                     did_you_mean(plain[1], seconds, one_of(plain[0], seconds)));
    std::vector<std::string> firsts;
    for (const Verb* verb : verbs()) {
        // 'gpuhostctl swap' is more likely a forgotten 'driver' than a mistyped 'status'.
        if (base::ends_with(verb->name, " " + plain[0]))
            return wrong("unknown verb " + quote(plain[0]), "Did you mean " + quote(verb->name) + "?");
        firsts.emplace_back(verb->name.substr(0, verb->name.find(' ')));
    }
    return wrong("unknown verb " + quote(plain[0]),
                 did_you_mean(plain[0], firsts, "List all verbs: gpuhostctl help --all."));
}

} // namespace

bool Arguments::has(const Option& option) const {
    return has(option.name);
}

bool Arguments::has(std::string_view name) const {
    return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.name == name; });
}

std::optional<std::string> Arguments::value(const Option& option) const {
    const auto all = values(option);
    return all.empty() ? std::nullopt : std::optional(all.back());
}

std::vector<std::string> Arguments::values(const Option& option) const {
    std::vector<std::string> values;
    for (const Given& given : given_)
        if (given.name == option.name)
            values.push_back(given.value);
    return values;
}

Result<void> Arguments::choose_verb(const std::vector<std::string>& plain) {
    if (plain.empty()) {
        verb_ = has("help") || has("version") ? nullptr : &default_verb();
        return {};
    }
    for (const Verb* verb : verbs()) {
        const auto parts = base::split_words(verb->name);
        if (plain.size() < parts.size() || !std::equal(parts.begin(), parts.end(), plain.begin()))
            continue;
        verb_ = verb;
        words_.assign(plain.begin() + static_cast<std::ptrdiff_t>(parts.size()), plain.end());
        return {};
    }
    if (plain.size() == 1 && has("help") && !verbs_below(plain[0]).empty()) {
        topic_ = plain[0];
        return {};
    }
    return unknown_verb(plain);
}

Result<void> Arguments::check_options(const std::vector<std::string>& unknown) const {
    const auto understood = verb_ == nullptr ? all_options() : options_of(*verb_);
    if (!unknown.empty())
        return wrong("unknown option " + quote(unknown[0]),
                     did_you_mean(unknown[0], dashed(understood), help_of(verb_)));
    for (const Given& given : given_)
        if (find_option(understood, "--" + std::string(given.name)) == nullptr)
            return wrong(quote(verb_->name) + " has no option '--" + std::string(given.name) + "'",
                         help_of(verb_));
    return {};
}

Result<void> Arguments::check_count() const {
    if (verb_ == nullptr || has("help") || has("version"))
        return {};
    const std::string usage = "Usage: gpuhostctl " + std::string(verb_->name) +
                              (verb_->arguments.empty() ? "" : " " + std::string(verb_->arguments)) + ".";
    if (words_.size() < verb_->least)
        return wrong(quote(verb_->name) + " needs " + std::string(verb_->arguments), usage);
    if (words_.size() > verb_->most)
        return wrong(verb_->most == 0 ? quote(verb_->name) + " accepts no argument, got " + quote(words_[0])
                                      : "one argument too many: " + quote(words_[verb_->most]),
                     usage);
    return {};
}

Result<Arguments> Arguments::parse(std::span<const std::string> words) {
    Arguments arguments;
    std::vector<std::string> plain;
    std::vector<std::string> unknown;
    const auto known = all_options();
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--") {
            plain.insert(plain.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
            break;
        }
        if (words[i].size() < 2 || words[i][0] != '-') {
            plain.push_back(words[i]);
            continue;
        }
        for (const auto& [name, value] : split_option(words[i], known)) {
            const Option* const option = find_option(known, name);
            if (option == nullptr) {
                unknown.push_back(name);
                continue;
            }
            const bool consumes_next = !option->argument.empty() && !option->argument_optional && !value;
            const auto given = consumes_next && i + 1 < words.size() ? std::optional(words[++i]) : value;
            GPUHOST_CHECK(check_value(*option, given));
            arguments.given_.push_back({option->name, given.value_or("")});
        }
    }
    std::vector<std::string> options = unknown;
    for (const Given& given : arguments.given_)
        options.push_back("--" + std::string(given.name));
    GPUHOST_CHECK(check_former(plain, options));
    GPUHOST_CHECK(arguments.choose_verb(plain));
    GPUHOST_CHECK(arguments.check_options(unknown));
    GPUHOST_CHECK(arguments.check_count());
    return arguments;
}

} // namespace gpuhost::ctl
