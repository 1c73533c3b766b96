// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/ini.hpp"
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/config/files.hpp"
#include "daemon/ctl/config/verbs.hpp"
#include "daemon/ctl/config/view.hpp"
#include "daemon/devices/publish/config_file.hpp"
#include "daemon/settings/all_settings.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

using base::Errc;
using base::Result;
using Files = std::vector<core::SettingsFile>;

constexpr std::array options{root_option, option::json};

Result<Files> one_file(const Arguments& given) {
    if (given.has(root_option))
        return base::fail(Errc::InvalidArgument, "--root cannot be used with FILE",
                          "Name the file below the directory, or leave out one of the two.");
    const std::string& path = given.words().front();
    GPUHOST_TRY(content, read_regular_file(path, base::ini_size_limit));
    if (content.find('\0') != std::string::npos)
        return base::fail(Errc::BadContent, "'" + path + "': not a text file");
    return Files{{path, std::move(content)}};
}

std::string summary(const Arguments& given, const Files& files) {
    if (files.empty())
        return "No configuration file found: every setting has its default. See gpuhostd.conf(5).\n";
    if (!given.words().empty())
        return printable(files.front().path) + ": no mistakes.\n";
    return "No mistakes in " + plural(files.size(), "file", "files") + "." +
           (given.has(root_option) ? "" : " To make gpuhostd use them: gpuhostctl reload.") + "\n";
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    const bool is_host = given.words().empty();
    GPUHOST_TRY(files, is_host ? files_of_host(given) : one_file(given));
    core::LoadedSettings loaded = core::load_settings(files, setting_keys());
    if (is_host) {
        GPUHOST_TRY(root, given_root(given));
        for (core::SettingsProblem& problem : devices::config_file_problems(root, loaded.settings))
            loaded.problems.push_back(std::move(problem));
    }
    if (session.wants_json())
        session.print_json(check_json(files, loaded.problems));
    else
        session.page(loaded.problems.empty() ? summary(given, files) : render_problems(loaded.problems));
    if (loaded.problems.empty())
        return 0;
    return base::fail(Errc::BadContent, plural(loaded.problems.size(), "mistake", "mistakes") + " found",
                      is_host && !given.has(root_option) ? "Correct the file, then run: gpuhostctl reload."
                                                         : "Correct the file. See gpuhostd.conf(5).");
}

constexpr std::array examples{
    Example{"config check", "check the files of this host"},
    Example{"config check ./gpuhostd.conf", "check a file before it is copied to hosts"},
};

} // namespace

const Verb config_check_verb{
    "config check",
    "[FILE]",
    "check the configuration, or a file, for mistakes",
    "Checks the configuration of this host, or FILE, as gpuhostd reads it. Prints each mistake with its file "
    "and line, and the nearest valid name: unknown sections and keys, keys in the wrong section, and invalid "
    "values. The exit status is 9 if there is one. Changes nothing; needs no daemon.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
