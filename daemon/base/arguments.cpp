// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/arguments.hpp"

#include "config.h"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cstdio>

namespace gpuhost::base {

namespace {

int print(const std::string& text) {
    return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

bool take(std::string_view argument, const Argument& known) {
    if (known.value == nullptr ? argument != known.name : !starts_with(argument, known.name))
        return false;
    if (known.value != nullptr)
        *known.value = argument.substr(known.name.size());
    else
        *known.flag = true;
    return true;
}

} // namespace

std::optional<int> parse_arguments(std::span<char*> argv, const Program& program,
                                   std::initializer_list<Argument> known, std::vector<std::string>* words) {
    const std::string name(program.name);
    for (const std::string_view argument : argv.subspan(std::min<std::size_t>(argv.size(), 1))) {
        if (argument == "--help" || argument == "-h")
            return print(std::string(program.usage));
        if (argument == "--version")
            return print(name + " " PACKAGE_VERSION "\n");
        if (std::any_of(known.begin(), known.end(), [&](const Argument& one) { return take(argument, one); }))
            continue;
        if (words == nullptr || starts_with(argument, "-")) {
            std::fputs((name + ": unknown argument '" + std::string(argument) + "', see --help\n").c_str(),
                       stderr);
            return 2;
        }
        words->emplace_back(argument);
    }
    return std::nullopt;
}

} // namespace gpuhost::base
