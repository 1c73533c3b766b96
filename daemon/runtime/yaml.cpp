// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/yaml.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t deepest = 64;
constexpr std::size_t value_cost = 16; ///< beside its text
constexpr std::size_t most_spent = 2U
                                   << 20U; ///< a specification of a MiB does not come near it without aliases

template <std::size_t N>
bool is_one_of(const std::string& text, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::uint64_t> unsigned_number(std::string_view text) {
    if (text.size() > 2 && text[0] == '0')
        switch (text[1]) {
        case 'x':
            return base::parse_uint(text.substr(2), 16);
        case 'o':
            return base::parse_uint(text.substr(2), 8);
        case 'b':
            return base::parse_uint(text.substr(2), 2);
        default:
            break;
        }
    return base::parse_uint(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
}

Json plain_scalar(const std::string& text) {
    if (is_one_of(text, std::array<std::string_view, 5>{"", "~", "null", "Null", "NULL"}))
        return nullptr;
    if (is_one_of(text, std::array<std::string_view, 3>{"true", "True", "TRUE"}))
        return true;
    if (is_one_of(text, std::array<std::string_view, 3>{"false", "False", "FALSE"}))
        return false;
    if (const auto number = unsigned_number(text))
        return *number;
    if (text[0] == '-')
        if (const auto number = unsigned_number(std::string_view(text).substr(1));
            number && *number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return -static_cast<std::int64_t>(*number);
    return text;
}

/// Makes JSON of what the parser tells it, and stops the parser as that stops itself: by an exception. A parser that
/// is not stopped recurses as deep as the text says.
class JsonBuilder final : public YAML::EventHandler {
  public:
    [[nodiscard]] Json take() && { return std::move(document_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_as_key(mark);
        spend(mark, made_, value_cost);
        put(mark, {Json(), value_cost}, anchor);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override {
        const std::size_t cost = value_cost + text.size();
        spend(mark, made_, cost);
        if (!is_key_next())
            return put(mark, {tag == "?" ? plain_scalar(text) : Json(text), cost}, anchor);
        if (open_.back().value.contains(text))
            throw YAML::ParserException(mark, "has the key '" + text + "' twice in one place");
        open_.back().key = text;
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_as_key(mark);
        const auto named = anchors_.find(anchor);
        if (named == anchors_.end())
            throw YAML::ParserException(mark, "has an alias inside of what it stands for");
        spend(mark, made_, named->second.cost);
        put(mark, named->second, 0);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        begin(mark, anchor, Json::array());
    }
    void OnSequenceEnd() override { end(); }

    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        begin(mark, anchor, Json::object());
    }
    void OnMapEnd() override { end(); }

  private:
    struct Named {
        Json value;
        std::size_t cost = 0;
    };
    /// A list or a map that has not ended yet.
    struct Open {
        Json value;
        YAML::Mark mark;
        YAML::anchor_t anchor;
        std::size_t made_before;
        std::optional<std::string> key; ///< whose value is next
    };

    [[nodiscard]] bool is_key_next() const {
        return !open_.empty() && open_.back().value.is_object() && !open_.back().key;
    }

    void refuse_as_key(const YAML::Mark& mark) const {
        if (is_key_next())
            throw YAML::ParserException(mark, "has a key that is no text");
    }

    /// So that a small text with aliases does not become very many values, or very long ones.
    void spend(const YAML::Mark& mark, std::size_t& spent, std::size_t cost) const {
        spent += cost;
        if (made_ + kept_ > most_spent)
            throw YAML::ParserException(mark, "stands for too much");
    }

    void begin(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
        refuse_as_key(mark);
        if (open_.size() == deepest)
            throw YAML::ParserException(mark, "is nested too deeply");
        open_.push_back({std::move(value), mark, anchor, made_, std::nullopt});
        spend(mark, made_, value_cost);
    }

    void end() {
        Open ended = std::move(open_.back());
        open_.pop_back();
        put(ended.mark, {std::move(ended.value), made_ - ended.made_before}, ended.anchor);
    }

    /// `anchor` 0: nothing names it.
    void put(const YAML::Mark& mark, Named made, YAML::anchor_t anchor) {
        if (anchor != 0) {
            spend(mark, kept_, made.cost);
            anchors_[anchor] = made;
        }
        if (open_.empty())
            document_ = std::move(made.value);
        else if (Open& outer = open_.back(); outer.value.is_array())
            outer.value.push_back(std::move(made.value));
        else
            outer.value[*std::exchange(outer.key, std::nullopt)] = std::move(made.value);
    }

    Json document_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, Named> anchors_;
    std::size_t made_ = 0; ///< in what is spent at most
    std::size_t kept_ = 0;
};

} // namespace

Result<Json> parse_yaml(std::string_view text, std::string_view what) {
    std::istringstream input{std::string(text)};
    try {
        YAML::Parser parser(input);
        JsonBuilder builder;
        (void)parser.HandleNextDocument(builder); // without a document it is null
        return std::move(builder).take();
    } catch (const YAML::Exception& error) {
        return base::fail(Errc::BadContent, std::string(what) + ": line " +
                                                std::to_string(error.mark.line + 1) + ": " + error.msg);
    }
}

} // namespace gpuhost::runtime
