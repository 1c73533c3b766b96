// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/file_operation.hpp"
#include "daemon/runtime/containerd_merge.hpp"
#include "daemon/runtime/runtime_change.hpp"
#include "daemon/runtime/runtime_files.hpp"
#include "daemon/runtime/toml.hpp"
#include "daemon/runtime/toml_edit.hpp"
#include "daemon/runtime/toml_writer.hpp"

#include <algorithm>
#include <filesystem>

#include <fnmatch.h>

namespace gpuhost::runtime {

using base::Json;
using base::member;
using base::Result;

namespace {

constexpr const char* runc_type = "io.containerd.runc.v2";

bool is_before_2(const RuntimeInstance& instance) {
    return !instance.version || !instance.version->is_at_least(2, 0);
}

/// Of the drop-in: never above the first file's, with which containerd 2.3 does not start.
unsigned version_to_write(const RuntimeState& base) {
    const ConfigFile& main = base.files.front();
    if (main.exists)
        return config_version(main.content);
    return is_before_2(base.instance) ? 2 : 3;
}

/// Before 2.0 a table of runtimes takes the place of the built-in one: pkg/cri/config/config_unix.go of 1.6 and 1.7.
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

/// As the default runtime, so that cgroups are driven in the same way, but by another program.
Json class_table(const Json& runtimes, const std::string& default_handler, const std::string& binary) {
    Json table = Json::object();
    for (const std::string& name : {default_handler, std::string("runc"), std::string("crun")})
        if (const Json& like = member(runtimes, name);
            !base::starts_with(name, "nvidia") && like.is_object()) {
            table = like;
            break;
        }
    if (base::string_or(table, "runtime_type", "").empty())
        table["runtime_type"] = runc_type;
    if (!member(table, "options").is_object())
        table["options"] = Json::object();
    table["options"]["BinaryName"] = binary;
    return table;
}

/// The CRI's table as the drop-in has it: before 2.0 all of it, since it stands for what the files before it say.
Json cri_table(const RuntimeState& base, const RuntimeWish& wish) {
    const Json merged = merge_containerd(contents_of(base.files), base.instance.version).document;
    const Json& now = member(member(merged, "plugins"), base.config.cri_plugin);
    const Json& runtimes = member(member(now, "containerd"), "runtimes");
    const bool whole = is_before_2(base.instance);
    Json cri = whole && now.is_object() ? now : Json::object();
    if (wish.cdi && base.config.cdi == CdiState::Off)
        cri["enable_cdi"] = true;
    if (wish.cdi && !reads_specs_in(base.config, wish.spec_directory)) {
        cri["cdi_spec_dirs"] = base.config.cdi_spec_dirs;
        cri["cdi_spec_dirs"].push_back(wish.spec_directory);
    }
    if (!wish.classes.empty() && whole && !runtimes.is_object())
        cri["containerd"]["runtimes"]["runc"] = built_in_runc(base.instance);
    for (const RuntimeClass& one : wish.classes)
        cri["containerd"]["runtimes"][one.name] =
            class_table(runtimes, base.config.default_handler, one.binary);
    if (!wish.default_class.empty())
        cri["containerd"]["default_runtime_name"] = wish.default_class;
    return cri;
}

std::string drop_in_text(const RuntimeState& base, const RuntimeWish& wish) {
    const unsigned version = version_to_write(base);
    Json document{{"plugins", {{cri_plugin(version), cri_table(base, wish)}}}};
    std::string text(content::file_mark);
    if (is_before_2(base.instance))
        text += "# Before containerd 2.0 a file's table of a plugin stands for all of it, so all that\n"
                "# " +
                base.instance.config + " says of it is here too; it is kept as it is there.\n";
    if (base.files.front().exists ? base.files.front().content.contains("version") : true)
        document["version"] = version;
    return text + to_toml(document);
}

/// Is `path` read by what is imported already?
bool is_imported(const ConfigFile& main, const std::string& path) {
    const std::filesystem::path directory = std::filesystem::path(main.path).parent_path();
    const auto imports = base::strings_or_empty(main.content, "imports");
    return std::any_of(imports.begin(), imports.end(), [&](const std::string& import) {
        const std::string pattern = (directory / import).lexically_normal();
        return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
    });
}

Result<Text> main_text(const RuntimeState& base, const Text& now, const std::string& drop_in,
                       bool is_wanted) {
    const ConfigFile& main = base.files.front();
    if (!now && !is_wanted)
        return Text();
    if (!now)
        return std::string(content::file_mark) + "version = " + std::to_string(version_to_write(base)) +
               "\nimports = [\"" + drop_in + "\"]\n";
    if (is_wanted && is_imported(main, drop_in))
        return now;
    return is_wanted ? with_import(*now, drop_in, main.path) : without_import(*now, drop_in, main.path);
}

/// A file that was read before, with another content.
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

/// Behind all that the first file imports, or where a pattern has it among others of its directory.
void insert_drop_in(std::vector<ConfigFile>& files, ConfigFile drop_in) {
    const std::string directory = drop_in.path.substr(0, drop_in.path.rfind('/'));
    const bool by_pattern = base::strings_or_empty(files.front().content, "imports").empty() ||
                            !is_named(files.front(), drop_in.path);
    auto at = files.end();
    if (by_pattern)
        at = std::find_if(files.begin() + 1, files.end(), [&](const ConfigFile& file) {
            return file.path.substr(0, file.path.rfind('/')) == directory && file.path > drop_in.path;
        });
    files.insert(at, std::move(drop_in));
}

/// What is configured, in whatever files.
Json effective(const RuntimeState& state) {
    Json document = merge_containerd(contents_of(state.files), state.instance.version).document;
    document.erase("imports");
    document.erase("version");
    return document;
}

std::string why(const RuntimeState& state, bool is_wanted) {
    return is_wanted ? "gpuhost's file is not in step with " + state.instance.config
                     : "gpuhost's part of it is no longer wanted";
}

} // namespace

Result<RuntimeChange> containerd_change(const RuntimeState& state, const RuntimeWish& wish,
                                        const std::map<std::string, Text>& texts) {
    const RuntimeState base = without_ours(state);
    const std::string drop_in = drop_in_of(state.instance);
    const std::string& main = state.instance.config;
    const bool is_wanted = !lacking(base.config, wish).empty();
    const Text text = is_wanted ? Text(drop_in_text(base, wish)) : Text();
    GPUHOST_TRY(main_after, main_text(base, texts.at(main), drop_in, is_wanted));
    RuntimeChange change;
    change.files = {{drop_in, texts.at(drop_in), text}, {main, texts.at(main), main_after}};
    if (!is_wanted) // an import of what is not there ends containerd
        std::reverse(change.files.begin(), change.files.end());
    std::erase_if(change.files, [](const FileChange& file) { return file.before == file.after; });

    std::vector<ConfigFile> files = base.files;
    GPUHOST_TRY(first, file_of(main, main_after));
    files.front() = std::move(first);
    if (is_wanted) {
        GPUHOST_TRY(ours, file_of(drop_in, text));
        insert_drop_in(files, std::move(ours));
    }
    change.after = configured(state.instance, std::move(files));
    change.reasons = lacking(state.config, wish);
    if (change.reasons.empty() && !change.files.empty())
        change.reasons.push_back(why(state, is_wanted));
    change.is_effective = !change.files.empty() && effective(state) != effective(change.after);
    return change;
}

} // namespace gpuhost::runtime
