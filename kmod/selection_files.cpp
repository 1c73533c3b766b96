// SPDX-License-Identifier: Apache-2.0
#include "kmod/selection_files.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/goal.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using Type = FileOperation::Type;

constexpr std::string_view library_file = "/etc/ld.so.conf.d/gpuhost.conf";
constexpr std::size_t short_digest = 12;

std::string in_store(std::string_view name) {
    return std::string(store_directory) + "/" + std::string(name);
}
std::string current() {
    return in_store("current");
}

std::string generation_name(const Generation& generation) {
    return generation.version + "-" + generation.modules.substr(0, short_digest) + "-" +
           generation.userland.substr(0, short_digest);
}

FileOperation tool_link(const std::string& name) {
    return {Type::Link, "/usr/bin/" + name, current() + "/bin/" + name};
}

FileOperation modules_link(std::string_view kernel) {
    return {Type::Link, "/lib/modules/" + std::string(kernel) + "/updates/gpuhost",
            in_store("boot/" + std::string(kernel) + "/modules")};
}

SelectionFiles no_driver(std::string_view kernel, const std::vector<std::string>& old_tools) {
    SelectionFiles files;
    files.before_index.push_back({Type::Remove, modules_link(kernel).path, {}});
    for (const std::string& name : old_tools)
        files.after_index.push_back({Type::Remove, tool_link(name).path, {}});
    for (const std::string& path : {std::string(library_file), current(),
                                    in_store("boot/" + std::string(kernel)), std::string(options_file)})
        files.after_index.push_back({Type::Remove, path, {}});
    return files;
}

} // namespace

base::Json to_json(const Driver& driver) {
    return {{"version", driver.generation.version},
            {"userland", driver.generation.userland},
            {"modules", driver.generation.modules},
            {"userland_path", driver.userland},
            {"modules_path", driver.modules}};
}

std::optional<Driver> driver_from_json(const base::Json& value) {
    Driver driver;
    driver.generation = {base::string_or(value, "version", ""), base::string_or(value, "userland", ""),
                         base::string_or(value, "modules", "")};
    driver.userland = base::string_or(value, "userland_path", "");
    driver.modules = base::string_or(value, "modules_path", "");
    if (driver.generation.version.empty() || driver.modules.empty())
        return std::nullopt;
    return driver;
}

std::vector<FileOperation> generation_files(const Driver& driver) {
    const std::string directory = in_store("generation/" + generation_name(driver.generation));
    std::vector<FileOperation> files{{Type::Link, directory + "/modules", driver.modules}};
    if (!driver.userland.empty())
        files.push_back({Type::Link, directory + "/userland", driver.userland});
    return files;
}

std::optional<FileOperation> firmware_link(const base::Root& root, const Driver& driver) {
    if (driver.userland.empty() || !root.exists(driver.userland + "/firmware"))
        return std::nullopt;
    return FileOperation{Type::Link, "/lib/firmware/nvidia/" + driver.generation.version,
                         driver.userland + "/firmware"};
}

SelectionFiles selection_files(std::string_view kernel, const std::optional<Driver>& driver,
                               const std::vector<std::string>& tools,
                               const std::vector<std::string>& old_tools, const std::string& options) {
    if (!driver)
        return no_driver(kernel, old_tools);
    SelectionFiles files;
    files.before_index.push_back(
        {options.empty() ? Type::Remove : Type::Write, std::string(options_file), options});
    if (!driver->userland.empty()) {
        files.before_index.push_back({Type::Link, current(), "boot/" + std::string(kernel) + "/userland"});
        files.before_index.push_back(
            {Type::Write, std::string(library_file), std::string(file_mark) + current() + "/lib\n"});
        for (const std::string& name : tools)
            files.before_index.push_back(tool_link(name));
    }
    files.before_index.push_back(modules_link(kernel));
    files.before_index.push_back({Type::Link, in_store("boot/" + std::string(kernel)),
                                  "../generation/" + generation_name(driver->generation)});
    for (const std::string& name : old_tools)
        if (std::find(tools.begin(), tools.end(), name) == tools.end())
            files.after_index.push_back({Type::Remove, tool_link(name).path, {}});
    if (driver->userland.empty())
        for (const std::string& path : {std::string(library_file), current()})
            files.after_index.push_back({Type::Remove, path, {}});
    return files;
}

std::vector<std::string> tools_of(const base::Root& root, const std::optional<Driver>& driver) {
    if (!driver || driver->userland.empty())
        return {};
    return root.list(driver->userland + "/bin").value_or(std::vector<std::string>());
}

std::string modprobe_options(const std::vector<std::string>& parameters) {
    std::string text(file_mark);
    text += "blacklist nouveau\n";
    for (const auto& [module, words] : split_parameters(parameters))
        text += "options " + module + " " + words + "\n";
    return text;
}

std::map<std::string, std::string> parse_modprobe_options(std::string_view text) {
    std::vector<std::string> parameters;
    for (const std::string& line : base::split(text, '\n')) {
        const std::vector<std::string> words = base::split_words(line);
        for (std::size_t i = 2; i < words.size() && words[0] == "options"; ++i)
            parameters.push_back(words[1] + "." + words[i]);
    }
    return split_parameters(parameters);
}

} // namespace gpuhost::kmod
