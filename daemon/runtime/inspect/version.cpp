// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/version.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/trusted_program.hpp"

#include <chrono>
#include <limits>

namespace gpuhost::runtime {

namespace {

constexpr std::chrono::seconds answer_time{10};
constexpr std::string_view digits = "0123456789";

std::optional<unsigned> number(std::string_view text) {
    const auto value = base::parse_uint(text);
    if (!value || *value > std::numeric_limits<unsigned>::max())
        return std::nullopt;
    return static_cast<unsigned>(*value);
}

} // namespace

std::optional<RuntimeVersion> parse_version(std::string_view output) {
    for (std::string word : base::split_words(output)) {
        if (base::starts_with(word, "v"))
            word.erase(0, 1);
        if (base::ends_with(word, ","))
            word.pop_back();
        const std::string_view text = word;
        const std::size_t dot = text.find('.');
        if (dot == std::string_view::npos)
            continue;
        const std::string_view rest = text.substr(dot + 1);
        const auto major = number(text.substr(0, dot));
        const std::size_t end = rest.find_first_not_of(digits);
        const auto minor = number(rest.substr(0, end));
        const std::string_view last =
            end != std::string_view::npos && rest[end] == '.' ? rest.substr(end + 1) : std::string_view();
        if (major && minor)
            return RuntimeVersion{*major, *minor, word,
                                  number(last.substr(0, last.find_first_not_of(digits))).value_or(0)};
    }
    return std::nullopt;
}

std::optional<RuntimeVersion> ask_version(const base::Root& root, const std::string& executable) {
    const auto finished = run_trusted(root, {executable, "--version"}, answer_time);
    if (!finished || finished->timed_out || finished->exit_status != 0)
        return std::nullopt;
    return parse_version(finished->output);
}

} // namespace gpuhost::runtime
