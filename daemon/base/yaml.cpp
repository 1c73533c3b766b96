// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/yaml.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/yaml_scalar.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace gpuhost::base {
namespace {

constexpr std::size_t deepest = 64;
/// Cost of a value, in addition to the length of its text; see most_spent.
constexpr std::size_t value_cost = 16;
/// Limit of the cost of a document. A CDI specification of 1 MiB without aliases has a far lower cost.
constexpr std::size_t most_spent = 2U << 20U;
constexpr std::string_view plain = "?"; ///< yaml-cpp's tag for a scalar without one
constexpr std::string_view quoted = "!";
constexpr std::string_view text_tag = "tag:yaml.org,2002:str";

/// Replaces control characters: error messages quote keys of the document.
std::string in_one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    return text;
}

/// Builds JSON from the parser's events. Throws an exception to stop the parser, as the parser itself does:
/// otherwise the parser would recurse as deeply as the text is nested.
class JsonBuilder final : public YAML::EventHandler {
  public:
    explicit JsonBuilder(YamlReader reader) : reader_(reader) {}
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
        refuse_tag(mark, tag);
        if (!is_key_next())
            return put(mark, {value_of(mark, tag, text), cost}, anchor);
        Open& map = open_.back();
        map.merges = reader_ == YamlReader::Kubectl && tag == plain && text == "<<";
        if (!map.merges)
            map.key = key_of(mark, tag, text);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_as_key(mark);
        const auto named = anchors_.find(anchor);
        if (named == anchors_.end())
            throw YAML::ParserException(mark, "has an alias inside its own anchor");
        spend(mark, made_, named->second.cost);
        if (!open_.empty() && open_.back().merges && !named->second.value.is_object())
            refuse_to_merge(mark);
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
    /// A list or a map that is not complete yet.
    struct Open {
        Json value;
        YAML::Mark mark;
        YAML::anchor_t anchor;
        std::size_t made_before;
        std::set<std::string> keys = {};     ///< without merged keys
        std::optional<std::string> key = {}; ///< key of the next value
        bool merges = false;                 ///< the next value is merged into this map
    };

    [[nodiscard]] bool is_key_next() const {
        return !open_.empty() && open_.back().value.is_object() && !open_.back().key && !open_.back().merges;
    }

    [[nodiscard]] Json value_of(const YAML::Mark& mark, const std::string& tag,
                                const std::string& text) const {
        Json value = tag == plain ? plain_scalar(text, reader_) : Json(text);
        if (value.is_number_float() && !std::isfinite(value.get<double>()))
            throw YAML::ParserException(mark, "has the number " + text + ", which JSON does not support");
        return value;
    }

    [[nodiscard]] std::string key_of(const YAML::Mark& mark, const std::string& tag,
                                     const std::string& text) {
        const auto key = tag == plain ? plain_key(text, reader_) : std::optional(text);
        if (!key)
            throw YAML::ParserException(mark, "has a key that is not a string");
        if (!open_.back().keys.insert(*key).second)
            throw YAML::ParserException(mark, "has the key '" + *key + "' twice in one map");
        return *key;
    }

    /// With Kubectl's rules, refuses tags other than !!str. They convert the text to another type, and are
    /// not used in practice.
    void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
        if (reader_ == YamlReader::Kubectl && tag != plain && tag != quoted && tag != text_tag)
            throw YAML::ParserException(mark, "has the tag '" + tag + "', which is not supported");
    }

    [[noreturn]] static void refuse_to_merge(const YAML::Mark& mark) {
        throw YAML::ParserException(mark, "has '<<' with a value that is not a map or a list of maps");
    }

    /// Merges a value of "<<" into a map at its position in the text, like Go's reader: merged members
    /// replace earlier ones.
    static void merge(const YAML::Mark& mark, Json& into, const Json& value) {
        if (value.is_object())
            return into.update(value);
        if (!value.is_array())
            refuse_to_merge(mark);
        for (auto one = value.rbegin(); one != value.rend(); ++one) { // the first has precedence
            if (!one->is_object())
                refuse_to_merge(mark);
            into.update(*one);
        }
    }

    void refuse_as_key(const YAML::Mark& mark) const {
        if (is_key_next())
            throw YAML::ParserException(mark, "has a key that is not a string");
    }

    /// Adds a cost. Limits the number and the length of values to which a small text with aliases may expand.
    void spend(const YAML::Mark& mark, std::size_t& spent, std::size_t cost) const {
        spent += cost;
        if (made_ + kept_ > most_spent)
            throw YAML::ParserException(mark, "expands to too much data");
    }

    void begin(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
        refuse_as_key(mark);
        if (open_.size() == deepest)
            throw YAML::ParserException(mark, "is nested too deeply");
        open_.push_back({std::move(value), mark, anchor, made_});
        spend(mark, made_, value_cost);
    }

    void end() {
        Open ended = std::move(open_.back());
        open_.pop_back();
        put(ended.mark, {std::move(ended.value), made_ - ended.made_before}, ended.anchor);
    }

    /// Adds a value to its parent, and stores a copy for aliases if `anchor` is not 0.
    void put(const YAML::Mark& mark, Named made, YAML::anchor_t anchor) {
        if (anchor != 0) {
            spend(mark, kept_, made.cost);
            anchors_[anchor] = made;
        }
        if (open_.empty())
            document_ = std::move(made.value);
        else if (Open& outer = open_.back(); outer.value.is_array())
            outer.value.push_back(std::move(made.value));
        else if (std::exchange(outer.merges, false))
            merge(mark, outer.value, made.value);
        else
            outer.value[*std::exchange(outer.key, std::nullopt)] = std::move(made.value);
    }

    YamlReader reader_;
    Json document_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, Named> anchors_;
    std::size_t made_ = 0; ///< cost of all values; made_ + kept_ is limited by most_spent
    std::size_t kept_ = 0; ///< cost of the copies in anchors_
};

} // namespace

Result<Json> parse_yaml(std::string_view text, std::string_view what, YamlReader reader) {
    if (reader == YamlReader::Kubectl && !is_yaml_text(text))
        return fail(Errc::BadContent, std::string(what) + ": is not UTF-8 text");
    std::istringstream input{std::string(text)};
    try {
        YAML::Parser parser(input);
        JsonBuilder builder(reader);
        (void)parser.HandleNextDocument(builder); // null without a document
        return std::move(builder).take();
    } catch (const YAML::Exception& error) {
        return fail(Errc::BadContent, std::string(what) + ": line " + std::to_string(error.mark.line + 1) +
                                          ": " + in_one_line(error.msg));
    }
}

} // namespace gpuhost::base
