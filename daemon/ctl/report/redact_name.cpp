// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/redact_name.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace gpuhost::ctl {

std::string plain_name(std::string_view name) {
    std::string made;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return made;
}

bool is_secret_name(std::string_view name) {
    constexpr std::array whole{"auth", "pin", "pinvalue", "cookie", "setcookie"};
    constexpr std::array last{"pass", "pwd"}; // whole words: "bypass" does not match
    constexpr std::array ends{"password",     "passwords",     "passwd",    "passwds",      "passphrase",
                              "passphrases",  "secret",        "secrets",   "token",        "tokens",
                              "apikey",       "accesskey",     "secretkey", "registryauth", "credential",
                              "credentials",  "authorization", "keydata",   "privatekey",   "amzsignature",
                              "googsignature"};
    if (name == "PWD") // the shell's working directory
        return false;
    const std::string key = plain_name(name);
    const std::string word = plain_name(name.substr(name.find_last_of("-_") + 1));
    return std::find(whole.begin(), whole.end(), key) != whole.end() ||
           std::find(last.begin(), last.end(), word) != last.end() ||
           std::any_of(ends.begin(), ends.end(),
                       [&](std::string_view end) { return base::ends_with(key, end); });
}

bool is_secret_option(std::string_view argument) {
    return base::starts_with(argument, "-") && is_secret_name(argument) &&
           std::all_of(argument.begin(), argument.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

} // namespace gpuhost::ctl
