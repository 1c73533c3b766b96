// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/request.hpp"

#include <algorithm>
#include <cctype>

namespace gpuhost::client {
namespace {

using Words = std::vector<std::string>;

void add(Words& words, const std::string& word) {
    words.push_back(word);
}

void add(Words& words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
}

void add(Words& words, std::span<const InputFile> files) {
    for (const InputFile& file : files)
        words.push_back(file.name);
}

void add(Words& /*words*/, const Options& /*options*/) {}

std::string in_small_letters(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

} // namespace

Request request_of(Call start, Options options) {
    Words words;
    for (const Argument& argument : start.arguments)
        std::visit([&](const auto& value) { add(words, value); }, argument);
    while (!words.empty() && words.back().empty())
        words.pop_back();
    Call plan{start.path, start.interface, "Plan", {in_small_letters(start.method), words, options}};
    return {std::move(start), std::move(options), std::move(plan)};
}

} // namespace gpuhost::client
