// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/yaml.hpp"

#include "daemon/base/json.hpp"
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

namespace gpuhost::base {
namespace {

constexpr std::size_t deepest = 64;
/// Cost of a value, in addition to the length of its text; see most_spent.
constexpr std::size_t value_cost = 16;
/// Limit of the cost of a text. A CDI specification of 1 MiB without aliases has a far lower cost.
constexpr std::size_t most_spent = 2U << 20U;
constexpr std::size_t longest_path = 256; ///< of YamlDocument::lines
constexpr std::string_view plain = "?";   ///< yaml-cpp's tag for a node without one
constexpr std::string_view quoted = "!";
constexpr std::string_view text_tag = "tag:yaml.org,2002:str";

/// Replaces control characters: error messages quote keys of the document.
std::string in_one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    return text;
}

/// Returns true for UTF-8 without control characters, which Go's readers of YAML require.
bool is_yaml_text(std::string_view text) {
    const bool control = std::any_of(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7f';
    });
    if (control)
        return false;
    const Json value = std::string(text);
    const Json again = Json::parse(dump(value), nullptr, false); // dump() replaces invalid UTF-8
    return again == value;
}

bool is_one_of(std::string_view text, const std::array<std::string_view, 3>& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::uint64_t> unsigned_number(std::string_view text) {
    if (text.size() > 2 && text[0] == '0') {
        if (text[1] == 'x')
            return parse_uint(text.substr(2), 16);
        if (text[1] == 'o')
            return parse_uint(text.substr(2), 8);
        if (text[1] == 'b')
            return parse_uint(text.substr(2), 2);
    }
    return parse_uint(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
}

/// Returns a boolean, an integer or a string. Does not recognize null: the parser reports null values itself.
Json plain_scalar(const std::string& text) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (is_one_of(text, {"true", "True", "TRUE"}))
        return true;
    if (is_one_of(text, {"false", "False", "FALSE"}))
        return false;
    if (const auto number = unsigned_number(text))
        return *number;
    const auto number = starts_with(text, "-") ? unsigned_number(text.substr(1)) : std::nullopt;
    return number && *number <= most ? Json(-static_cast<std::int64_t>(*number)) : Json(text);
}

/// Builds JSON from the parser's events. Stops the parser with an exception, as the parser itself does. If
/// the parser were not stopped, it would recurse as deeply as the text is nested.
class JsonBuilder final : public YAML::EventHandler {
  public:
    /// Adds the cost of the document to `spent`, and the line of each value to `lines`, unless it is null.
    explicit JsonBuilder(std::size_t& spent, YamlLines* lines = nullptr) : spent_(spent), lines_(lines) {}

    [[nodiscard]] Json take() && { return std::move(document_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_as_key(mark);
        made_ += spend(mark, value_cost);
        locate(mark);
        put(mark, {Json(), value_cost}, anchor);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override {
        const std::size_t cost = value_cost + text.size();
        made_ += spend(mark, cost);
        refuse_tag(mark, tag);
        if (!is_key_next()) {
            locate(mark);
            return put(mark, {tag == plain ? plain_scalar(text) : Json(text), cost}, anchor);
        }
        if (tag == plain && text == "<<")
            throw YAML::ParserException(mark, "merges maps with '<<', which is not supported");
        Open& map = open_.back();
        if (map.value.contains(text))
            throw YAML::ParserException(mark, "has the key '" + text + "' twice in one map");
        map.key = text;
        map.key_line = line_of(mark);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_as_key(mark);
        const auto named = anchors_.find(anchor);
        if (named == anchors_.end())
            throw YAML::ParserException(mark, "has an alias inside its own anchor");
        made_ += spend(mark, named->second.cost);
        locate(mark);
        put(mark, named->second, 0);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        refuse_tag(mark, tag);
        begin(mark, anchor, Json::array());
    }
    void OnSequenceEnd() override { end(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        refuse_tag(mark, tag);
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
        std::optional<std::string> path = {}; ///< in lines_; nullopt: too long
        std::optional<std::string> key = {};  ///< key of the next value
        std::size_t key_line = 0;
    };

    static std::size_t line_of(const YAML::Mark& mark) { return static_cast<std::size_t>(mark.line) + 1; }

    /// Stores the line of the next value, which is that of its key in a map. Returns the path of the value.
    std::optional<std::string> locate(const YAML::Mark& mark) {
        if (lines_ == nullptr)
            return std::nullopt;
        std::string path;
        std::size_t line = line_of(mark);
        if (!open_.empty()) {
            const Open& outer = open_.back();
            const bool is_map = outer.value.is_object();
            if (!outer.path || outer.path->size() + (is_map ? outer.key->size() : 0) > longest_path)
                return std::nullopt;
            path = *outer.path + (is_map ? (outer.path->empty() ? "" : ".") + *outer.key
                                         : "[" + std::to_string(outer.value.size()) + "]");
            line = is_map ? outer.key_line : line;
        }
        lines_->emplace(path, line);
        return path;
    }

    [[nodiscard]] bool is_key_next() const {
        return !open_.empty() && open_.back().value.is_object() && !open_.back().key;
    }

    /// Refuses tags other than !!str. They convert the text to another type, and are not used in practice.
    static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
        if (tag != plain && tag != quoted && tag != text_tag)
            throw YAML::ParserException(mark, "has the tag '" + tag + "', which is not supported");
    }

    void refuse_as_key(const YAML::Mark& mark) const {
        if (is_key_next())
            throw YAML::ParserException(mark, "has a key that is not a string");
    }

    /// Adds a cost, and throws if the total exceeds most_spent. A small text with aliases could otherwise
    /// expand to a huge number of values or to huge values. Returns the cost.
    std::size_t spend(const YAML::Mark& mark, std::size_t cost) {
        spent_ += cost;
        if (spent_ > most_spent)
            throw YAML::ParserException(mark, "expands to too much data");
        return cost;
    }

    void begin(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
        refuse_as_key(mark);
        if (open_.size() == deepest)
            throw YAML::ParserException(mark, "is nested too deeply");
        auto path = locate(mark);
        open_.push_back({std::move(value), mark, anchor, made_, std::move(path)});
        made_ += spend(mark, value_cost);
    }

    void end() {
        Open ended = std::move(open_.back());
        open_.pop_back();
        put(ended.mark, {std::move(ended.value), made_ - ended.made_before}, ended.anchor);
    }

    /// Adds a value to its parent, and stores a copy for aliases if `anchor` is not 0.
    void put(const YAML::Mark& mark, Named made, YAML::anchor_t anchor) {
        if (anchor != 0) {
            (void)spend(mark, made.cost);
            anchors_[anchor] = made;
        }
        if (open_.empty())
            document_ = std::move(made.value);
        else if (Open& outer = open_.back(); outer.value.is_array())
            outer.value.push_back(std::move(made.value));
        else
            outer.value[*std::exchange(outer.key, std::nullopt)] = std::move(made.value);
    }

    std::size_t& spent_; ///< cost of all values of the text, and of the copies in anchors_
    YamlLines* lines_;
    Json document_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, Named> anchors_;
    std::size_t made_ = 0; ///< cost of the values of this document
};

/// Passes the text to `read`, which may throw YAML::Exception.
template <typename T, typename Read>
Result<T> with_parser(std::string_view text, std::string_view what, Read read) {
    if (!is_yaml_text(text))
        return fail(Errc::BadContent, std::string(what) + ": is not UTF-8 text");
    std::istringstream input{std::string(text)};
    try {
        YAML::Parser parser(input);
        return read(parser);
    } catch (const YAML::Exception& error) {
        return fail(Errc::BadContent, std::string(what) + ": line " + std::to_string(error.mark.line + 1) +
                                          ": " + in_one_line(error.msg));
    }
}

} // namespace

std::string outer_path(const std::string& path) {
    const std::size_t at = path.find_last_of(".[");
    return path.substr(0, at == std::string::npos ? 0 : at);
}

std::size_t yaml_line(const YamlLines& lines, std::string path) {
    for (; !path.empty(); path = outer_path(path))
        if (const auto found = lines.find(path); found != lines.end())
            return found->second;
    const auto found = lines.find("");
    return found == lines.end() ? 1 : found->second;
}

Result<Json> parse_yaml(std::string_view text, std::string_view what) {
    return with_parser<Json>(text, what, [](YAML::Parser& parser) {
        std::size_t spent = 0;
        JsonBuilder builder(spent);
        (void)parser.HandleNextDocument(builder); // the result is null if the text has no document
        return std::move(builder).take();
    });
}

Result<std::vector<YamlDocument>> parse_yaml_documents(std::string_view text, std::string_view what) {
    return with_parser<std::vector<YamlDocument>>(text, what, [](YAML::Parser& parser) {
        std::vector<YamlDocument> documents;
        std::size_t spent = 0;
        for (;;) {
            YamlDocument document;
            JsonBuilder builder(spent, &document.lines);
            if (!parser.HandleNextDocument(builder))
                return documents;
            document.value = std::move(builder).take();
            if (!document.value.is_null())
                documents.push_back(std::move(document));
        }
    });
}

} // namespace gpuhost::base
