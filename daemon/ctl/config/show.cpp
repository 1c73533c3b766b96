// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/config/files.hpp"
#include "daemon/ctl/config/verbs.hpp"
#include "daemon/ctl/config/view.hpp"
#include "daemon/settings/all_settings.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {
namespace {

using base::Result;
using core::Setting;
using core::Settings;

constexpr Option changed_option{"changed", "", "show only settings that differ from their defaults"};
constexpr std::array options{changed_option, root_option, option::json};

constexpr std::size_t most_names = 1000;

/// Returns the settings that a word, "Driver" or "Driver.Version", names.
Result<ShownSettings> named(const Settings& settings, const std::string& word) {
    const std::size_t dot = word.find('.');
    const std::string section = word.substr(0, dot);
    const std::string key = dot == std::string::npos ? "" : word.substr(dot + 1);
    ShownSettings found;
    if (dot != std::string::npos && settings.find(section, key) != nullptr)
        return ShownSettings{settings.find(section, key)};
    for (const Setting& setting : settings.all())
        if (dot == std::string::npos && setting.key->section == section)
            found.push_back(&setting);
    if (!found.empty())
        return found;
    const base::Error error = settings.unknown(section, key);
    return base::fail(error.code, error.message + (error.hint.empty() ? "" : " (" + error.hint + ")"),
                      "List all settings: gpuhostctl config show.");
}

/// Returns the settings that the words name, or all, each once. Those of one section follow one another:
/// several subsystems may have keys in a section.
Result<ShownSettings> chosen(const Settings& settings, const std::vector<std::string>& words) {
    ShownSettings wanted;
    for (const std::string& word : words) {
        GPUHOST_TRY(found, named(settings, word));
        wanted.insert(wanted.end(), found.begin(), found.end());
    }
    ShownSettings all;
    for (const Setting& setting : settings.all())
        if (words.empty() || std::find(wanted.begin(), wanted.end(), &setting) != wanted.end())
            all.push_back(&setting);
    const auto first_of_section = [&](const Setting* setting) {
        return std::find_if(settings.all().begin(), settings.all().end(),
                            [&](const Setting& one) { return one.key->section == setting->key->section; });
    };
    std::stable_sort(all.begin(), all.end(), [&](const Setting* a, const Setting* b) {
        return first_of_section(a) < first_of_section(b);
    });
    return all;
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(files, files_of_host(given));
    const core::LoadedSettings loaded = core::load_settings(files, setting_keys());
    GPUHOST_TRY(shown, chosen(loaded.settings, given.words()));
    if (given.has(changed_option))
        std::erase_if(shown, [](const Setting* setting) { return setting->is_default(); });
    if (session.wants_json())
        session.print_json(settings_json(shown));
    else if (shown.empty())
        session.note("Every setting has its default.\n");
    else
        session.page(render_settings(session.out(), shown));
    if (!loaded.problems.empty())
        session.warn("The files have " + plural(loaded.problems.size(), "mistake", "mistakes") +
                     ", see: gpuhostctl config check\n");
    return 0;
}

constexpr std::array examples{
    Example{"config show Driver", "show the settings of section [Driver]"},
    Example{"config show --changed", "show what this host sets"},
};

} // namespace

const Verb config_show_verb{
    "config show",
    "[SECTION[.KEY]…]",
    "show each setting, its default and the file that sets it",
    "Shows the settings of this host, or of SECTION, or the setting KEY of SECTION, in the syntax of "
    "gpuhostd.conf(5). A '#' precedes a setting that no file sets; it has its default. A comment above "
    "each other setting names its source (file and line, or the cluster's policy) and its default. Reads "
    "files directly: needs no daemon.",
    0,
    most_names,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
