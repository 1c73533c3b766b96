// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/units.hpp"

#include "daemon/base/ini.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/programs.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace gpuhost::runtime {

using base::Root;

namespace {

/// Directories of units in order of precedence: systemd.unit(5).
constexpr std::array directories{"/etc/systemd/system", "/run/systemd/system",
                                 "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                 "/lib/systemd/system"};

using Paths = std::map<std::string, std::string>;

/// Returns those files in `subdirectory` of all `directories` that have names with this ending, by name.
Paths files_named(const Root& root, const std::string& subdirectory, std::string_view ending) {
    Paths files;
    for (const std::string directory : directories)
        for (const std::string& name :
             root.list(directory + subdirectory).value_or(std::vector<std::string>()))
            if (base::ends_with(name, ending))
                files.emplace(name, directory + subdirectory + "/" + name);
    return files;
}

/// Returns the text of a unit file; empty if the unit is masked. A mask is a link to /dev/null, which can't
/// be read below another root.
std::string read_unit(const Root& root, const std::string& path) {
    if (const auto target = root.read_link(path); target && *target == "/dev/null")
        return {};
    return root.read(path, base::ini_size_limit).value_or(std::string());
}

/// Returns true if a file is an alias: a link to a unit with another name.
bool is_alias(const Root& root, const std::string& name, const std::string& path) {
    const auto target = root.read_link(path);
    return target && target->substr(target->rfind('/') + 1) != name;
}

} // namespace

std::vector<std::string> split_command(std::string_view line) {
    std::vector<std::string> words;
    char quote = 0;
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        const bool blank = c == ' ' || c == '\t';
        if (quote == 0 && blank) {
            inside = false;
            continue;
        }
        if (!inside)
            words.emplace_back();
        inside = true;
        if (c == quote)
            quote = 0;
        else if (quote == 0 && (c == '"' || c == '\''))
            quote = c;
        else
            words.back() += c == '\\' && i + 1 < line.size() ? line[++i] : c;
    }
    return words;
}

std::vector<std::string> exec_start(const std::vector<std::string>& texts) {
    std::vector<std::string> commands;
    for (const std::string& text : texts)
        for (const base::IniEntry& entry : base::parse_ini(text).entries) {
            if (entry.section != "Service" || entry.key != "ExecStart")
                continue;
            if (entry.value.empty())
                commands.clear();
            else
                commands.push_back(entry.value);
        }
    if (commands.empty())
        return {};
    std::vector<std::string> words = split_command(commands.front());
    if (!words.empty())
        words.front().erase(0, words.front().find_first_not_of("@-:+!|"));
    return words;
}

std::vector<std::string> bound_to(const std::vector<std::string>& texts) {
    std::vector<std::string> units;
    for (const std::string& text : texts)
        for (const base::IniEntry& entry : base::parse_ini(text).entries)
            if (entry.section == "Unit" &&
                (entry.key == "Requires" || entry.key == "BindsTo" || entry.key == "PartOf"))
                for (std::string& unit : base::split_words(entry.value))
                    units.push_back(std::move(unit));
    return units;
}

std::string kill_mode(const std::vector<std::string>& texts) {
    std::string mode;
    for (const std::string& text : texts)
        for (const base::IniEntry& entry : base::parse_ini(text).entries)
            if (entry.section == "Service" && entry.key == "KillMode")
                mode = entry.value;
    return mode;
}

std::vector<RuntimeUnit> read_runtime_units(const Root& root) {
    std::vector<RuntimeUnit> units;
    for (const auto& [name, file] : files_named(root, "", ".service")) {
        if (is_alias(root, name, file))
            continue; // an alias, or masked
        std::vector<std::string> texts{read_unit(root, file)};
        if (texts.front().empty() || name.find('@') != std::string::npos)
            continue; // masked, or a template
        for (const auto& [drop_in, path] : files_named(root, "/" + name + ".d", ".conf"))
            texts.push_back(read_unit(root, path));
        RuntimeUnit unit{name, file, exec_start(texts), bound_to(texts), kill_mode(texts)};
        if (program_of(unit.command))
            units.push_back(std::move(unit));
    }
    return units;
}

} // namespace gpuhost::runtime
