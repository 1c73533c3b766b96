// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/completion.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/settings/all_settings.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {
namespace {

struct Row {
    /// "driver import", or "driver" for all verbs below it. Empty: every verb and every option.
    std::string_view verbs;
    std::string_view placeholder;
    std::string_view by;
};

/// Stands for "words" and the names of all sections and settings.
constexpr std::string_view setting_names = "SETTINGS";

/// The first row that matches the verb and the placeholder applies.
constexpr std::array rows{
    Row{"driver import", "FILE", "file deb rpm run ko ko.gz ko.xz ko.zst"},
    Row{"toolkit import", "FILE", "file deb rpm tar tgz tar.gz tar.xz tar.zst"},
    Row{"upgrade", "VERSION", "driver-or-file"},
    Row{"driver", "VERSION", "driver"},
    Row{"toolkit", "VERSION", "toolkit"},
    Row{"bundle", "NAME", "bundle"},
    Row{"runtime", "NAME", "runtime"},
    Row{"gpu", "GPU", "gpu"},
    Row{"", "BUNDLE", "bundle"},
    Row{"config show", "SECTION", setting_names},
    Row{"", "FILE", "file"},
    Row{"", "PATH", "file"},
    Row{"", "SPEC", "file"},
    Row{"", "OLD", "file"},
    Row{"", "DIRECTORY", "directory"},
    Row{"", "RELEASE", "kernel"},
    Row{"", "KERNEL", "kernel"},
    Row{"", "IMAGE", "image"},
    Row{"", "DEVICE", "device"},
    Row{"", "ID", "operation"},
    Row{"", "PACKAGE", "file deb"},
    Row{"", "VERB", "verb"},
    Row{"", "NAME", ""},
    Row{"", "NUMBER", ""},
    Row{"", "PATTERN", ""},
    Row{"", "REPOSITORY:TAG", ""},
    Row{"", "SERVER", ""},
    Row{"", "SIZE", ""},
    Row{"", "SPAN", ""},
    Row{"", "TEXT", ""},
    Row{"", "URL", ""},
    Row{"", "VERSION", "driver"},
};

/// Returns the first placeholder of arguments such as "[NAME…]", "FILE…|DIRECTORY" or "OLD NEW".
std::string_view first_placeholder(std::string_view arguments) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ:";
    arguments.remove_prefix(std::min(arguments.find_first_of(letters), arguments.size()));
    return arguments.substr(0, arguments.find_first_not_of(letters));
}

/// Returns "words Driver Driver.Version …".
std::string words_of_settings() {
    std::vector<std::string> sections;
    std::vector<std::string> settings;
    for (const auto& group : setting_keys())
        for (const core::SettingKey& key : group) {
            const std::string section(key.section);
            if (std::find(sections.begin(), sections.end(), section) == sections.end())
                sections.push_back(section);
            settings.push_back(section + "." + std::string(key.key));
        }
    return "words " + base::join(sections, " ") + " " + base::join(settings, " ");
}

std::optional<std::string> completed_by(std::string_view verb, std::string_view arguments) {
    if (arguments.empty())
        return "";
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
        return r.placeholder == first_placeholder(arguments) &&
               (r.verbs.empty() || r.verbs == verb || base::starts_with(verb, std::string(r.verbs) + " "));
    });
    if (row == rows.end())
        return std::nullopt;
    return row->by == setting_names ? words_of_settings() : std::string(row->by);
}

constexpr std::string_view begin_mark = "# Tables, which 'make completion' writes from the verbs:\n";
constexpr std::string_view end_mark = "# End of the tables.\n";

} // namespace

std::optional<std::string> completed_by(const Option& option) {
    return is_choice(option) ? "words " + base::join(base::split(option.argument, '|'), " ")
                             : completed_by("", option.argument);
}

std::optional<std::string> completed_by(const Verb& verb) {
    return completed_by(verb.name, verb.arguments);
}

base::Result<std::string> with_tables(std::string_view script, std::string_view tables) {
    const std::size_t begin = script.find(begin_mark);
    const std::size_t end = script.find(end_mark);
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        return base::fail(base::Errc::InvalidArgument, "the script has no place for the tables");
    return std::string(script.substr(0, begin + begin_mark.size())) + std::string(tables) +
           std::string(script.substr(end));
}

} // namespace gpuhost::ctl
