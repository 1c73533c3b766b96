// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/selection_files.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/module/goal.hpp"
#include "kmod/units/companion_services.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::kmod {
namespace {

using Type = content::FileOperation::Type;

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

content::FileOperation tool_link(const std::string& name) {
    return {Type::Link, "/usr/bin/" + name, current() + "/bin/" + name};
}

content::FileOperation modules_link(std::string_view kernel) {
    return {Type::Link, "/lib/modules/" + std::string(kernel) + "/updates/gpuhost",
            in_store("boot/" + std::string(kernel) + "/modules")};
}

content::FileOperation options_write(const std::string& options) {
    return {options.empty() ? Type::Remove : Type::Write, std::string(options_file), options};
}

/// Returns the operations on the link `current` and on the dynamic linker's file, through which libraries and
/// programs are found. `target` is the new target of `current`. If it is empty, both files are removed.
std::vector<content::FileOperation> userland_links(const std::string& target) {
    if (target.empty())
        return {{Type::Remove, std::string(library_file), {}}, {Type::Remove, current(), {}}};
    return {{Type::Link, current(), target},
            {Type::Write, std::string(library_file), std::string(content::file_mark) + current() + "/lib\n"}};
}

void add(std::vector<content::FileOperation>& to, const std::vector<content::FileOperation>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

/// Adds the removal of files in `old_tools` that are not in `tools`.
void remove_old_tools(const std::vector<content::FileOperation>& tools,
                      const std::vector<content::FileOperation>& old_tools, SelectionFiles& files) {
    for (const content::FileOperation& old : old_tools)
        if (std::none_of(tools.begin(), tools.end(), [&](const auto& tool) { return tool.path == old.path; }))
            files.after_index.push_back({Type::Remove, old.path, {}});
}

/// Returns the operations on files that only this kernel uses. Without a driver, they remove these files.
SelectionFiles boot_files(std::string_view kernel, const std::optional<Driver>& driver) {
    const std::string boot = in_store("boot/" + std::string(kernel));
    if (!driver)
        return {{{Type::Remove, modules_link(kernel).path, {}}}, {{Type::Remove, boot, {}}}};
    return {
        {modules_link(kernel), {Type::Link, boot, "../generation/" + generation_name(driver->generation)}},
        {}};
}

/// Returns the operations that remove this kernel's files. Files that all kernels share are set for another
/// kernel's selection (`others`, see selection_files()).
SelectionFiles no_driver(std::string_view kernel, const std::vector<content::FileOperation>& tools,
                         const std::vector<content::FileOperation>& old_tools, const std::string& options,
                         const std::string& others) {
    const SelectionFiles boot = boot_files(kernel, std::nullopt);
    SelectionFiles files{boot.before_index, {}};
    remove_old_tools(tools, old_tools, files);
    files.after_index.push_back(options_write(options));
    add(files.after_index, userland_links(others));
    add(files.after_index, boot.after_index);
    return files;
}

/// Returns the target that the link `current` had before the step, if that is the userland of another kernel;
/// else empty. If the selection was unreadable, the link may lead to the userland of this kernel. Such a link
/// would lead nowhere after the step.
std::string others_current(const base::Json& args) {
    const std::string current = base::string_or(args, "current_from", "");
    return current == userland_link_of(base::string_or(args, "kernel", "")) ? std::string() : current;
}

/// Does the work of tools_of() for a userland's directory.
std::vector<content::FileOperation> tools_in(const base::Root& root, const std::string& userland) {
    std::vector<content::FileOperation> tools;
    const std::vector<std::string> packaged = packaged_units(root);
    std::set<std::string_view> units;
    for (const std::string& name : root.list(userland + "/bin").value_or(std::vector<std::string>())) {
        content::FileOperation link = tool_link(name);
        const std::string_view unit = unit_of_companion_service(name);
        if (!unit.empty())
            units.insert(unit);
        if (unit.empty() || content::is_ours(root, link.path))
            tools.push_back(std::move(link));
    }
    for (const std::string_view unit : units) {
        content::FileOperation drop_in = unit_drop_in(unit, current() + "/bin");
        if (std::find(packaged.begin(), packaged.end(), unit) == packaged.end())
            drop_in = {Type::Remove, drop_in.path, {}}; // the package that installed the unit was removed
        tools.push_back(std::move(drop_in));
    }
    return tools;
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

std::vector<content::FileOperation> generation_files(const Driver& driver) {
    const std::string directory = in_store("generation/" + generation_name(driver.generation));
    std::vector<content::FileOperation> files{{Type::Link, directory + "/modules", driver.modules}};
    if (!driver.userland.empty())
        files.push_back({Type::Link, directory + "/userland", driver.userland});
    return files;
}

std::optional<content::FileOperation> firmware_link(const base::Root& root, const Driver& driver) {
    if (driver.userland.empty() || !root.exists(driver.userland + "/firmware"))
        return std::nullopt;
    return content::FileOperation{Type::Link, "/lib/firmware/nvidia/" + driver.generation.version,
                                  driver.userland + "/firmware"};
}

SelectionFiles selection_files(std::string_view kernel, const std::optional<Driver>& driver,
                               const std::vector<content::FileOperation>& tools,
                               const std::vector<content::FileOperation>& old_tools,
                               const std::string& options, const std::string& others) {
    if (!driver)
        return no_driver(kernel, tools, old_tools, options, others);
    SelectionFiles files;
    files.before_index.push_back(options_write(options));
    if (!driver->userland.empty()) {
        add(files.before_index, userland_links(userland_link_of(kernel)));
        add(files.before_index, tools);
    }
    add(files.before_index, boot_files(kernel, driver).before_index);
    remove_old_tools(tools, old_tools, files);
    if (driver->userland.empty())
        add(files.after_index, userland_links({}));
    return files;
}

SelectionFiles selection_files(const base::Root& root, const base::Json& args, const std::string& which) {
    const auto driver = driver_from_json(base::member(args, which));
    if (base::bool_or(args, "boots_only", false))
        return boot_files(base::string_or(args, "kernel", ""), driver);
    const auto other = driver_from_json(base::member(args, which == "to" ? "from" : "to"));
    const std::string others = others_current(args);
    return selection_files(base::string_or(args, "kernel", ""), driver,
                           driver || others.empty() ? tools_of(root, driver)
                                                    : tools_in(root, in_store(others)),
                           tools_of(root, other), base::string_or(args, "options_" + which, ""), others);
}

std::string boot_modules(const base::Root& root, std::string_view kernel) {
    return root.read_link(in_store("boot/" + std::string(kernel) + "/modules")).value_or(std::string());
}

std::string userland_link_of(std::string_view kernel) {
    return "boot/" + std::string(kernel) + "/userland";
}

std::string current_userland(const base::Root& root) {
    return root.read_link(current()).value_or(std::string());
}

std::vector<content::FileOperation> tools_of(const base::Root& root, const std::optional<Driver>& driver) {
    if (!driver || driver->userland.empty())
        return {};
    return tools_in(root, driver->userland);
}

std::string modprobe_options(const std::vector<std::string>& parameters) {
    std::string text(content::file_mark);
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
