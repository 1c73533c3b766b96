// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/options.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::fail;

base::Result<HookOptions> parse_hook_options(std::span<const std::string> words,
                                             std::span<const std::string_view> known) {
    HookOptions options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const auto equals = std::min(word.find('='), word.size());
        const bool dashes = base::starts_with(word, "--") && equals > 2;
        const std::string name(dashes ? word.substr(2, equals - 2) : std::string_view());
        if (!dashes || std::find(known.begin(), known.end(), name) == known.end())
            return fail(Errc::InvalidArgument, "unknown argument '" + words[i] + "'", "See --help.");
        if (equals == word.size() && i + 1 == words.size())
            return fail(Errc::InvalidArgument, "'--" + name + "' needs a value", "See --help.");
        options[name].push_back(equals < word.size() ? std::string(word.substr(equals + 1)) : words[++i]);
    }
    return options;
}

} // namespace gpuhost::runtime
