// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/runtime/configure/change.hpp"
#include "daemon/runtime/inspect/files.hpp"
#include "daemon/runtime/toml/toml.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;
using base::member;
using base::Result;

namespace {

/// Returns the table of runtime `name`. The last file with a table of this name replaces the tables of
/// earlier files.
Json runtime_table(const RuntimeState& base, const std::string& name) {
    Json table;
    for (const Json& file : contents_of(base.files))
        if (const Json& said = member(member(member(member(file, "crio"), "runtime"), "runtimes"), name);
            said.is_object())
            table = said;
    return table;
}

/// Returns true if the table can be the model for a runtime class. Runtimes for virtual machines run no
/// NVIDIA program.
bool is_like_runc(const Json& table) {
    return table.is_object() && base::string_or(table, "runtime_type", "") != "vm";
}

/// Returns the table of a runtime class: a copy of the default runtime's with the program `binary`. A table
/// of NVIDIA's own is copied only if no other fits.
Json class_table(const RuntimeState& base, const std::string& binary) {
    const std::string& by_default = base.config.default_handler;
    Json table = runtime_table(base, by_default);
    for (const std::string& name : {by_default, std::string("runc"), std::string("crun")})
        if (Json like = runtime_table(base, name); !base::starts_with(name, "nvidia") && is_like_runc(like)) {
            table = std::move(like);
            break;
        }
    if (!is_like_runc(table))
        table = Json::object();
    if (base::string_or(table, "runtime_type", "") != "pod")
        table["runtime_type"] = "oci";
    table["runtime_path"] = binary;
    return table;
}

std::string drop_in_text(const RuntimeState& base, const DesiredConfig& desired) {
    Json table = Json::object();
    if (desired.cdi && !reads_specs_in(base.config, desired.spec_directory)) {
        table["cdi_spec_dirs"] = base.config.cdi_spec_dirs;
        table["cdi_spec_dirs"].push_back(desired.spec_directory);
    }
    for (const RuntimeClass& one : desired.classes)
        table["runtimes"][one.name] = class_table(base, one.binary);
    if (!desired.default_class.empty())
        table["default_runtime"] = desired.default_class;
    return std::string(content::file_mark) + to_toml({{"crio", {{"runtime", std::move(table)}}}});
}

/// Inserts the drop-in at its position: drop-ins are read in order of name.
void insert(std::vector<ConfigFile>& files, ConfigFile drop_in) {
    const auto at = std::find_if(files.begin() + 1, files.end(),
                                 [&](const ConfigFile& file) { return file.path > drop_in.path; });
    files.insert(at, std::move(drop_in));
}

} // namespace

Result<RuntimeChange> crio_change(const RuntimeState& state, const DesiredConfig& desired,
                                  const std::map<std::string, Text>& texts) {
    const RuntimeState base = without_ours(state);
    const std::string drop_in = drop_in_of(state.instance);
    const bool is_wanted = !lacking(base.config, desired).empty();
    const Text text = is_wanted ? Text(drop_in_text(base, desired)) : Text();
    RuntimeChange change;
    std::vector<ConfigFile> files = base.files;
    if (is_wanted) {
        ConfigFile ours;
        ours.path = drop_in;
        GPUHOST_TRY(content, parse_toml(*text, drop_in));
        ours.content = std::move(content);
        insert(files, std::move(ours));
    }
    change.after = configured(state.instance, std::move(files));
    if (texts.at(drop_in) == text)
        return change;
    change.files = {{drop_in, texts.at(drop_in), text}};
    change.reasons = lacking(state.config, desired);
    if (change.reasons.empty())
        change.reasons.push_back(is_wanted ? "gpuhost's file does not match the other files"
                                           : "gpuhost's part of it is no longer needed");
    change.is_effective = contents_of(state.files) != contents_of(change.after.files);
    return change;
}

} // namespace gpuhost::runtime
