// SPDX-License-Identifier: Apache-2.0
#include "images/host/registries_conf.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace gpuhost::images {

using base::Root;

namespace {

constexpr std::string_view main_file = "/etc/containers/registries.conf";
constexpr std::string_view drop_ins = "/etc/containers/registries.conf.d";

/// Finds settings in one file line by line. Does not parse TOML: any text in the form of a setting counts as
/// one.
class Scan {
  public:
    explicit Scan(std::set<std::string>& hosts) : hosts_(&hosts) {}

    void line(std::string_view text) {
        text = without_comment(base::trim(text));
        if (!text.empty() && text.front() == '[' && !is_list_) {
            // Version 1 of the format lists registries in these two tables. The table registries.search is
            // ignored: it lists where to search short names.
            is_list_table_ = text == "[registries.block]" || text == "[registries.insecure]";
            return;
        }
        if (is_list_table_) {
            is_list_ = (is_list_ || text.find('[') != std::string_view::npos) &&
                       text.find(']') == std::string_view::npos;
            for (std::string_view rest = text; !rest.empty();)
                add(next_quoted(rest));
            return;
        }
        for (const std::string_view key : {"prefix", "location"})
            for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1))
                if (is_key(text, at, key.size())) {
                    std::string_view rest = text.substr(at + key.size());
                    rest.remove_prefix(rest.find('=') + 1);
                    add(next_quoted(rest));
                }
    }

  private:
    static std::string_view without_comment(std::string_view text) {
        char quote = '\0';
        for (std::size_t i = 0; i < text.size(); ++i)
            if (quote != '\0')
                quote = text[i] == quote ? '\0' : quote;
            else if (text[i] == '"' || text[i] == '\'')
                quote = text[i];
            else if (text[i] == '#')
                return base::trim(text.substr(0, i));
        return text;
    }
    /// Reports whether the word at `at` is a key: a separate word, quoted or not, with "=" after it.
    static bool is_key(std::string_view text, std::size_t at, std::size_t size) {
        const char before = at == 0 ? ' ' : text[at - 1];
        const std::size_t equals = text.find_first_not_of("\"' \t", at + size);
        return std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '-' && before != '_' &&
               equals != std::string_view::npos && text[equals] == '=';
    }
    /// Removes and returns the first quoted word of `text`. Empties `text` if there is none.
    static std::string_view next_quoted(std::string_view& text) {
        const std::size_t begin = text.find_first_of("\"'");
        const std::size_t end = begin == std::string_view::npos ? begin : text.find(text[begin], begin + 1);
        if (end == std::string_view::npos) {
            text = {};
            return {};
        }
        const std::string_view value = text.substr(begin + 1, end - begin - 1);
        text.remove_prefix(end + 1);
        return value;
    }
    void add(std::string_view name) {
        if (const std::string_view host = name.substr(0, name.find('/')); !host.empty())
            hosts_->emplace(host);
    }

    std::set<std::string>* hosts_;
    bool is_list_table_ = false; ///< the current table is one that lists registries
    bool is_list_ = false;       ///< the current line is inside a list that has several lines
};

} // namespace

std::set<std::string> configured_hosts(const Root& root) {
    std::vector<std::string> files{std::string(main_file)};
    for (const std::string& name : root.list(drop_ins).value_or(std::vector<std::string>()))
        if (const std::string path = std::string(drop_ins) + "/" + name; path != containers_file)
            files.push_back(path);
    std::set<std::string> hosts;
    for (const std::string& file : files) {
        Scan scan(hosts);
        const std::string text = root.read(file).value_or("");
        for (const std::string_view line : base::split(text, '\n'))
            scan.line(line);
    }
    return hosts;
}

bool is_configured(const std::set<std::string>& hosts, const std::string& registry) {
    const std::string name = registry.substr(0, registry.rfind(':'));
    return hosts.count(registry) != 0 ||
           std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
               return base::starts_with(host, "*.") &&
                      (base::ends_with(name, std::string_view(host).substr(1)) ||
                       base::ends_with(registry, std::string_view(host).substr(1)));
           });
}

} // namespace gpuhost::images
