// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/core/registry_hosts.hpp"
#include "daemon/runtime/configure/change.hpp"
#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/inspect/files.hpp"
#include "daemon/runtime/toml/toml.hpp"
#include "daemon/runtime/toml/toml_edit.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"

#include <algorithm>
#include <filesystem>

#include <fnmatch.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::member;
using base::Result;

namespace {

constexpr const char* runc_type = "io.containerd.runc.v2";
/// An old shim of containerd 1.x. Its option Runtime names the program that it runs.
constexpr const char* old_shim = "io.containerd.runtime.v1.linux";

bool is_before_2(const RuntimeInstance& instance) {
    return !instance.version || !instance.version->is_at_least(2, 0);
}

/// Returns the configuration version of the drop-in. It does not exceed the main file's version, because
/// containerd 2.3 would not start. The exception is a main file of version 1 with containerd 2.0 to 2.2:
/// these ignore the CRI's tables in version 1.
unsigned version_to_write(const RuntimeState& base) {
    const ConfigFile& main = base.files.front();
    const unsigned newest = is_before_2(base.instance) ? 2 : 3;
    const bool ignores_1 = base.instance.version && base.instance.version->is_at_least(2, 0) &&
                           !base.instance.version->is_at_least(2, 3);
    if (!main.exists || (ignores_1 && config_version(main.content) < 2))
        return newest;
    return config_version(main.content);
}

/// Returns containerd's built-in table for runc (pkg/cri/config/config_unix.go of 1.6 and 1.7). The drop-in
/// repeats it, because before 2.0 a table of runtimes replaces it.
Json built_in_runc(const RuntimeInstance& instance) {
    Json table{{"runtime_type", runc_type},
               {"options",
                {{"BinaryName", ""},
                 {"CriuImagePath", ""},
                 {"CriuPath", ""},
                 {"CriuWorkPath", ""},
                 {"IoGid", 0},
                 {"IoUid", 0},
                 {"NoNewKeyring", false},
                 {"NoPivotRoot", false},
                 {"Root", ""},
                 {"ShimCgroup", ""},
                 {"SystemdCgroup", false}}}};
    if (instance.version && instance.version->is_at_least(1, 7))
        table["sandbox_mode"] = "podsandbox";
    return table;
}

/// Returns true if the table can be the model for a runtime class. Runtimes for virtual machines run no
/// NVIDIA program.
bool is_like_runc(const Json& table) {
    const std::string type = base::string_or(table, "runtime_type", "");
    return table.is_object() &&
           (type.empty() || type == old_shim || base::starts_with(type, "io.containerd.runc."));
}

/// Returns the table from which runtime classes are copied. It is the table of the default runtime, so that
/// the cgroup driver is the same. A table of NVIDIA's own is used only if no other fits.
Json model_table(const Json& runtimes, const std::string& default_handler) {
    for (const std::string& name : {default_handler, std::string("runc"), std::string("crun")})
        if (const Json& like = member(runtimes, name);
            !base::starts_with(name, "nvidia") && is_like_runc(like))
            return like;
    const Json& last = member(runtimes, default_handler);
    return is_like_runc(last) ? last : Json::object();
}

Json class_table(const Json& runtimes, const std::string& default_handler, const std::string& binary) {
    Json table = model_table(runtimes, default_handler);
    if (base::string_or(table, "runtime_type", "").empty())
        table["runtime_type"] = runc_type;
    if (!member(table, "options").is_object())
        table["options"] = Json::object();
    table["options"]["BinaryName"] = binary;
    if (table["runtime_type"] == old_shim)
        table["options"]["Runtime"] = binary;
    return table;
}

/// Returns the CRI table of the drop-in. Before 2.0 it is the complete table, because the table of a later
/// file replaces that of an earlier one.
Json cri_table(const RuntimeState& base, const DesiredConfig& desired) {
    const Json merged = merge_containerd(contents_of(base.files), base.instance.version).document;
    const Json& now = member(member(merged, "plugins"), base.config.cri_plugin);
    const Json& containerd = member(now, "containerd");
    const Json& runtimes = member(containerd, "runtimes");
    const bool whole = is_before_2(base.instance);
    Json cri = whole && now.is_object() ? now : Json::object();
    Json models = runtimes.is_object() ? runtimes : Json::object();
    if (const Json& old_default = member(containerd, old_default_table); old_default.is_object())
        models[old_default_handler] = old_default;
    if (desired.cdi && base.config.cdi == CdiState::Off)
        cri["enable_cdi"] = true;
    if (desired.cdi && !reads_specs_in(base.config, desired.spec_directory)) {
        cri["cdi_spec_dirs"] = base.config.cdi_spec_dirs;
        cri["cdi_spec_dirs"].push_back(desired.spec_directory);
    }
    if (!desired.classes.empty() && whole && !runtimes.is_object())
        cri["containerd"]["runtimes"]["runc"] = built_in_runc(base.instance);
    for (const RuntimeClass& one : desired.classes)
        cri["containerd"]["runtimes"][one.name] =
            class_table(models, base.config.default_handler, one.binary);
    if (!desired.default_class.empty()) {
        cri["containerd"]["default_runtime_name"] = desired.default_class;
        // This table would have precedence over default_runtime_name.
        cri["containerd"].erase(old_default_table);
    }
    return cri;
}

/// Sets config_path to one directory. containerd 2.1 and newer do not support a list of directories here,
/// although the default since 2.2 is a list.
void add_registry_hosts(Json& plugins, unsigned version) {
    plugins[cri_images_plugin(version)]["registry"]["config_path"] = core::containerd_certs;
}

std::string drop_in_text(const RuntimeState& base, const DesiredConfig& desired) {
    const unsigned version = version_to_write(base);
    Json document{{"plugins", Json::object()}};
    if (Json cri = cri_table(base, desired); !cri.empty())
        document["plugins"][cri_plugin(version)] = std::move(cri);
    if (desired.registry_hosts && base.config.registry_hosts != RegistryHosts::Read)
        add_registry_hosts(document["plugins"], version);
    std::string text(content::file_mark);
    if (is_before_2(base.instance))
        text += "# Before containerd 2.0 a plugin's table replaces the table of earlier files, so this file\n"
                "# repeats the table of " +
                base.instance.config + ". gpuhostd keeps the copy up to date.\n";
    if (version > 1 || base.files.front().content.contains("version"))
        document["version"] = version;
    return text + to_toml(document);
}

/// Returns the absolute path or pattern of an import in the main file, as read_containerd_files() resolves
/// it.
std::string import_path(const RuntimeState& base, const std::string& import) {
    const RuntimeInstance& instance = base.instance;
    const bool before_1_7 = instance.version && !instance.version->is_at_least(1, 7);
    const std::filesystem::path directory = before_1_7 && import.find('*') != std::string::npos
                                                ? std::filesystem::path("/")
                                                : std::filesystem::path(instance.config).parent_path();
    return (directory / import).lexically_normal();
}

bool is_match(const std::string& pattern, const std::string& path) {
    return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
}

/// Returns true if the imports of the main file already include `path`.
bool is_imported(const RuntimeState& base, const std::string& path) {
    const auto imports = base::strings_or_empty(base.files.front().content, "imports");
    return std::any_of(imports.begin(), imports.end(),
                       [&](const std::string& import) { return is_match(import_path(base, import), path); });
}

Result<Text> main_text(const RuntimeState& base, const Text& now, const std::string& drop_in,
                       bool is_wanted) {
    const ConfigFile& main = base.files.front();
    if (!now && !is_wanted)
        return Text();
    if (!now)
        return std::string(content::file_mark) + "version = " + std::to_string(version_to_write(base)) +
               "\nimports = [\"" + drop_in + "\"]\n";
    if (is_wanted && is_imported(base, drop_in))
        return now;
    return is_wanted ? with_import(*now, drop_in, main.path) : without_import(*now, drop_in, main.path);
}

/// Returns the file with the content `text`. Without a text, returns a file that does not exist.
Result<ConfigFile> file_of(const std::string& path, const Text& text) {
    ConfigFile file;
    file.path = path;
    file.exists = text.has_value();
    if (text) {
        GPUHOST_TRY(content, parse_toml(*text, path));
        file.content = std::move(content);
    }
    return file;
}

/// Inserts the drop-in at its position in the order of reading. The first import that matches its path
/// decides the position. Files that are imported by imported files follow later.
void insert_drop_in(const RuntimeState& base, std::vector<ConfigFile>& files, ConfigFile drop_in) {
    std::size_t last = 0;
    for (const std::string& import : base::strings_or_empty(files.front().content, "imports")) {
        const std::string pattern = import_path(base, import);
        const bool is_its = is_match(pattern, drop_in.path);
        for (std::size_t i = 1; i < files.size(); ++i)
            if (is_match(pattern, files[i].path) && (!is_its || files[i].path < drop_in.path))
                last = std::max(last, i);
        if (is_its)
            break;
    }
    files.insert(files.begin() + static_cast<std::ptrdiff_t>(last) + 1, std::move(drop_in));
}

/// Returns the last file after the drop-in that has a CRI table; empty if there is none.
std::string file_in_the_way(const RuntimeState& after, const std::string& drop_in) {
    for (auto file = after.files.rbegin(); file != after.files.rend() && file->path != drop_in; ++file)
        for (const unsigned version : {1U, 2U, 3U})
            for (const std::string& plugin : {cri_plugin(version), cri_images_plugin(version)})
                if (member(member(file->content, "plugins"), plugin).is_object())
                    return file->path;
    return {};
}

/// Returns the merged configuration of all files.
Json effective(const RuntimeState& state) {
    Json document = merge_containerd(contents_of(state.files), state.instance.version).document;
    document.erase("imports");
    document.erase("version");
    return document;
}

std::string why(const RuntimeState& state, bool is_wanted) {
    return is_wanted ? "gpuhost's file does not match " + state.instance.config
                     : "gpuhost's part of it is no longer needed";
}

} // namespace

Result<RuntimeChange> containerd_change(const RuntimeState& state, const DesiredConfig& desired,
                                        const std::map<std::string, Text>& texts) {
    const RuntimeState base = without_ours(state);
    const std::string drop_in = drop_in_of(state.instance);
    const std::string& main = state.instance.config;
    const bool is_wanted = !lacking(base.config, desired).empty();
    const Text text = is_wanted ? Text(drop_in_text(base, desired)) : Text();
    GPUHOST_TRY(main_after, main_text(base, texts.at(main), drop_in, is_wanted));
    RuntimeChange change;
    change.files = {{drop_in, texts.at(drop_in), text}, {main, texts.at(main), main_after}};
    if (!is_wanted) // containerd exits if an import does not exist
        std::reverse(change.files.begin(), change.files.end());
    std::erase_if(change.files, [](const FileChange& file) { return file.before == file.after; });

    std::vector<ConfigFile> files = base.files;
    GPUHOST_TRY(first, file_of(main, main_after));
    files.front() = std::move(first);
    if (is_wanted) {
        GPUHOST_TRY(ours, file_of(drop_in, text));
        insert_drop_in(base, files, std::move(ours));
    }
    change.after = configured(state.instance, std::move(files));
    if (const std::string other = file_in_the_way(change.after, drop_in);
        is_wanted && !other.empty() && !lacking(change.after.config, desired).empty())
        return base::fail(Errc::Refused,
                          "'" + other +
                              "' is read after gpuhost's file and also has the CRI plugin's table: " +
                              base::join(lacking(change.after.config, desired), ", "),
                          "Move that table to '" + main + "', or import the file earlier.");
    change.reasons = lacking(state.config, desired);
    if (change.reasons.empty() && !change.files.empty())
        change.reasons.push_back(why(state, is_wanted));
    change.is_effective = !change.files.empty() && effective(state) != effective(change.after);
    return change;
}

} // namespace gpuhost::runtime
