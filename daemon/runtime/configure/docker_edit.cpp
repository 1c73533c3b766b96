// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/docker_edit.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using Document = nlohmann::ordered_json; // keys in the order of the file

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr const char* features = "features";
constexpr const char* runtimes = "runtimes";
constexpr const char* default_runtime = "default-runtime";
constexpr const char* spec_dirs = "cdi-spec-dirs";

std::string number_text(double number) {
    return Document(number).dump();
}

/// Finds content that a parsed Document does not preserve.
class Losses : public nlohmann::json_sax<Document> {
  public:
    std::string repeated_key;
    std::string changed_number;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    /// The parser also calls this function for integers that are out of range.
    bool number_float(number_float_t number, const string_t& text) override {
        if (number_text(number) != text)
            changed_number = text;
        return true;
    }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override {
        keys_.emplace_back();
        return true;
    }
    bool key(string_t& name) override {
        if (!keys_.back().insert(name).second)
            repeated_key = name;
        return true;
    }
    bool end_object() override {
        keys_.pop_back();
        return true;
    }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        return false;
    }

  private:
    std::vector<std::set<std::string>> keys_;
};

tl::unexpected<base::Error> refused(std::string_view what, const std::string& why) {
    return base::fail(Errc::Refused, std::string(what) + ": " + why + ", so it can't be edited safely",
                      "Edit the file manually.");
}

tl::unexpected<base::Error> wrong_type(std::string_view what, const char* key, const char* wanted) {
    return base::fail(Errc::BadContent, std::string(what) + ": '" + key + "' is not " + wanted);
}

Result<Document> parse(std::string_view text, std::string_view what) {
    if (base::trim(text).empty())
        return Document::object();
    GPUHOST_TRY(checked, base::parse_json(text, what)); // enforces the limits of parse_json()
    if (!checked.is_object())
        return base::fail(Errc::BadContent, std::string(what) + ": is not a JSON object");
    for (const char* const key : {features, runtimes})
        if (checked.contains(key) && !checked[key].is_object())
            return wrong_type(what, key, "an object");
    if (checked.contains(default_runtime) && !checked[default_runtime].is_string())
        return wrong_type(what, default_runtime, "a string");
    return Document::parse(text, nullptr, false);
}

/// Removes a member, and its object if that becomes empty. An object that was empty before stays.
void remove_member(Document& document, const char* object, const std::string& name) {
    if (!document.contains(object) || document[object].erase(name) == 0)
        return;
    if (document[object].empty())
        document.erase(object);
}

void set_runtime(Document& document, const std::string& name, const std::string& path) {
    Document& all = document[runtimes];
    if (const auto found = all.find(name);
        found == all.end() || !found->is_object() || !found->contains("path") || (*found)["path"] != path)
        all[name] = Document{{"path", path}};
}

Document edited(Document document, const DockerEdit& edit) {
    for (const auto& [name, path] : edit.runtimes)
        set_runtime(document, name, path);
    for (const auto& [name, runtime] : edit.earlier_runtimes)
        document[runtimes][name] = Document::parse(base::dump(runtime));
    for (const std::string& name : edit.removed_runtimes)
        if (edit.runtimes.count(name) == 0)
            remove_member(document, runtimes, name);
    if (edit.drop_cdi)
        remove_member(document, features, "cdi");
    else if (edit.cdi)
        document[features]["cdi"] = *edit.cdi;
    if (edit.default_runtime && edit.default_runtime->empty())
        document.erase(default_runtime);
    else if (edit.default_runtime)
        document[default_runtime] = *edit.default_runtime;
    if (edit.spec_dirs && edit.spec_dirs->empty())
        document.erase(spec_dirs);
    else if (edit.spec_dirs)
        document[spec_dirs] = *edit.spec_dirs;
    return document;
}

/// Returns the indentation of the first member's line, else four blanks.
std::string indentation(std::string_view text) {
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
        const std::size_t end = std::min(text.find_first_not_of(" \t", at + 1), text.size());
        const bool is_empty = end == text.size() || text[end] == '\r' || text[end] == '\n';
        if (end > at + 1 && !is_empty)
            return std::string(text.substr(at + 1, end - at - 1));
    }
    return "    ";
}

/// Returns the document in the style of `like`: indentation, line ends, final line end and byte order mark.
std::string written(const Document& document, std::string_view like) {
    const std::string indent = indentation(like);
    std::string text = document.dump(static_cast<int>(indent.size()), indent.front(), false,
                                     nlohmann::detail::error_handler_t::replace);
    if (base::trim(like).empty() || like.back() == '\n')
        text += '\n';
    if (const std::size_t end = like.find('\n');
        end != std::string_view::npos && end > 0 && like[end - 1] == '\r')
        for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2))
            text.insert(at, 1, '\r');
    if (base::starts_with(like, byte_order_mark))
        text.insert(0, byte_order_mark);
    return text;
}

} // namespace

Result<std::string> edit_docker(std::string_view text, const DockerEdit& edit, std::string_view what) {
    GPUHOST_TRY(before, parse(text, what));
    Losses losses;
    if (!base::trim(text).empty())
        Document::sax_parse(text, &losses);
    if (!losses.repeated_key.empty())
        return refused(what, "it has the key '" + losses.repeated_key + "' twice");
    const Document after = edited(before, edit);
    if (after == before)
        return std::string(text);
    if (!losses.changed_number.empty())
        return refused(what, "the number " + losses.changed_number + " would change");
    std::string result = written(after, text);
    const auto again = Document::parse(result, nullptr, false);
    if (again.is_discarded() || again != after)
        return refused(what, "the result would differ from the intended one");
    return result;
}

} // namespace gpuhost::runtime
