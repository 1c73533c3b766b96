// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/selector.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::Result;
using base::trim;

namespace {

/// Splits `text` at commas outside parentheses.
std::vector<std::string> terms_of(std::string_view text) {
    std::vector<std::string> terms(1);
    bool inside = false;
    for (const char c : text) {
        inside = c == '(' || (inside && c != ')');
        if (c == ',' && !inside)
            terms.emplace_back();
        else
            terms.back() += c;
    }
    return terms;
}

bool is_word(std::string_view text, bool slash) {
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
               c == '_' || c == '.' || (slash && c == '/');
    });
}

tl::unexpected<base::Error> no_selector(std::string_view text) {
    return base::fail(Errc::InvalidArgument, "'" + std::string(text) + "' is not a valid label selector",
                      "Write it as for kubectl: app=web,tier!=canary,zone in (a,b)");
}

} // namespace

Result<Selector> Selector::parse(std::string_view text) {
    Selector selector;
    if (trim(text).empty())
        return selector;
    for (const std::string& written : terms_of(text)) {
        std::string_view term = trim(written);
        Requirement made;
        if (const auto open = term.find('('); open != std::string_view::npos) {
            const auto words = base::split_words(term.substr(0, open));
            if (words.size() != 2 || (words[1] != "in" && words[1] != "notin") || term.back() != ')')
                return no_selector(text);
            made.key = words[0];
            made.has = words[1] == "in";
            for (const std::string& value : base::split(term.substr(open + 1, term.size() - open - 2), ','))
                made.values.emplace_back(trim(value));
        } else if (const auto equals = term.find('='); equals != std::string_view::npos) {
            made.has = equals == 0 || term[equals - 1] != '!';
            const bool twice = equals + 1 < term.size() && term[equals + 1] == '=';
            made.key = trim(term.substr(0, made.has ? equals : equals - 1));
            made.values.emplace_back(trim(term.substr(equals + (twice && made.has ? 2 : 1))));
        } else {
            made.has = term.empty() || term.front() != '!';
            made.key = trim(made.has ? term : term.substr(1));
        }
        if (made.key.empty() || !is_word(made.key, true) ||
            !std::all_of(made.values.begin(), made.values.end(),
                         [](const auto& v) { return is_word(v, false); }))
            return no_selector(text);
        selector.requirements_.push_back(std::move(made));
    }
    return selector;
}

Result<Selector> Selector::read(const Json& value) {
    if (value.is_null())
        return Selector();
    if (value.is_string())
        return parse(value.get_ref<const std::string&>());
    if (!value.is_object())
        return no_selector(base::dump(value));
    Selector selector;
    for (const auto& [key, wanted] : value.items()) {
        if (!wanted.is_string())
            return no_selector(base::dump(value));
        selector.requirements_.push_back({key, true, {wanted.get<std::string>()}});
    }
    return selector;
}

bool Selector::matches(const Labels& labels) const {
    return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& wanted) {
        const auto label = labels.find(wanted.key);
        const bool found = label != labels.end() &&
                           (wanted.values.empty() || std::find(wanted.values.begin(), wanted.values.end(),
                                                               label->second) != wanted.values.end());
        return found == wanted.has;
    });
}

} // namespace gpuhost::cluster
