// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/core/settings.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/config/files.hpp"
#include "daemon/ctl/config/verbs.hpp"
#include "daemon/settings/all_settings.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option defaults_option{"defaults", "", "print every setting at its default instead"};
constexpr std::array options{defaults_option, root_option, option::json};

base::Json as_json(const std::vector<core::SettingsFile>& files) {
    base::Json list = base::Json::array();
    for (const auto& file : files)
        list.push_back({{"path", file.path}, {"content", file.content}});
    return list;
}

/// Formats files as 'systemctl cat' does: each below a comment with its path. The contents are unchanged.
std::string as_text(const Screen& screen, const std::vector<core::SettingsFile>& files) {
    std::string out;
    for (const auto& file : files) {
        out += (out.empty() ? "" : "\n") + screen.paint(Style::Dim, "# " + printable(file.path)) + "\n" +
               file.content;
        if (!out.empty() && out.back() != '\n')
            out += '\n';
    }
    return out;
}

base::Result<int> run(Session& session) {
    if (session.arguments().has(defaults_option)) {
        if (session.wants_json())
            session.print_json(as_json({{"", default_settings_file()}}));
        else
            session.page(default_settings_file());
        return 0;
    }
    GPUHOST_TRY(files, files_of_host(session.arguments()));
    for (const auto& file : files)
        if (file.error)
            return base::fail(*file.error);
    if (session.wants_json())
        session.print_json(as_json(files));
    else if (files.empty())
        session.note("No configuration file found: every setting has its default. See gpuhostd.conf(5).\n");
    else
        session.page(as_text(session.out(), files));
    return 0;
}

constexpr std::array examples{
    Example{"config cat", "print the files"},
    Example{"config cat --defaults", "print all settings at their defaults, to start a file from"},
};

} // namespace

const Verb config_cat_verb{
    "config cat",
    "",
    "print the configuration files that apply",
    "Prints the main file and the drop-ins, each below its name, lowest precedence first. The settings of a "
    "cluster's policy come first, so the administrator's files override them. With --defaults it prints a "
    "file with every setting, commented out, at its default. Needs no daemon.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
