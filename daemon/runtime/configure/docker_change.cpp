// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/runtime/configure/change.hpp"
#include "daemon/runtime/configure/docker_edit.hpp"

#include <algorithm>
#include <functional>

namespace gpuhost::runtime {

using base::Json;
using base::member;
using base::Result;

namespace {

Result<Json> document_of(const Text& text, const std::string& path) {
    return text && !base::trim(*text).empty() ? parse_json_object(*text, path) : Json::object();
}

bool wants(const DesiredConfig& desired, const std::string& name) {
    return std::any_of(desired.classes.begin(), desired.classes.end(),
                       [&](const RuntimeClass& one) { return one.name == name; });
}

void add_desired(DockerEdit& edit, const RuntimeState& state, const DesiredConfig& desired) {
    if (desired.cdi && state.config.cdi == CdiState::Off)
        edit.cdi = true;
    if (desired.cdi && !reads_specs_in(state.config, desired.spec_directory)) {
        edit.spec_dirs = state.config.cdi_spec_dirs;
        edit.spec_dirs->push_back(desired.spec_directory);
    }
    for (const RuntimeClass& one : desired.classes)
        edit.runtimes[one.name] = one.binary;
    if (!desired.default_class.empty())
        edit.default_runtime = desired.default_class;
}

/// The current file, the file as gpuhost wrote it, and the file before gpuhost's edits.
struct Versions {
    const Json& now;
    const Json& written;
    const Json& before;

    /// Returns true if gpuhost set the value that `of` selects, and no other program has changed it since.
    [[nodiscard]] bool is_ours(const std::function<const Json&(const Json&)>& of) const {
        return of(now) == of(written) && of(written) != of(before);
    }
};

/// Adds edits that restore the earlier values of members which gpuhost set and which are no longer desired.
void remove_ours(DockerEdit& edit, const Versions& file, const DesiredConfig& desired) {
    for (const auto& entry : member(file.now, "runtimes").items()) {
        const std::string& name = entry.key();
        const auto of = [&](const Json& document) -> const Json& {
            return member(member(document, "runtimes"), name);
        };
        if (wants(desired, name) || !file.is_ours(of))
            continue;
        if (of(file.before).is_object())
            edit.earlier_runtimes[name] = of(file.before);
        else
            edit.removed_runtimes.push_back(name);
    }
    const auto of_default = [](const Json& document) -> const Json& {
        return member(document, "default-runtime");
    };
    if (desired.default_class.empty() && file.is_ours(of_default))
        edit.default_runtime = base::string_or(file.before, "default-runtime", "");
    const auto of_cdi = [](const Json& document) -> const Json& {
        return member(member(document, "features"), "cdi");
    };
    if (!desired.cdi && file.is_ours(of_cdi)) {
        edit.drop_cdi = !of_cdi(file.before).is_boolean();
        if (!edit.drop_cdi)
            edit.cdi = of_cdi(file.before).get<bool>();
    }
    const auto of_dirs = [](const Json& document) -> const Json& {
        return member(document, "cdi-spec-dirs");
    };
    if (!desired.cdi && file.is_ours(of_dirs))
        edit.spec_dirs = base::strings_or_empty(file.before, "cdi-spec-dirs");
}

Result<void> remove_ours(DockerEdit& edit, const Json& now, const KnownFile& known,
                         const DesiredConfig& desired, const std::string& path) {
    GPUHOST_TRY(before, document_of(known.before, path));
    GPUHOST_TRY(written, document_of(known.written, path));
    remove_ours(edit, Versions{now, written, before}, desired);
    return {};
}

} // namespace

Result<RuntimeChange> docker_change(const RuntimeState& state, const DesiredConfig& desired,
                                    const std::map<std::string, Text>& texts, const KnownFiles& known) {
    const std::string& path = state.instance.config;
    const Text& now = texts.at(path);
    GPUHOST_TRY(document, document_of(now, path));
    DockerEdit edit;
    add_desired(edit, state, desired);
    if (const auto file = known.find(path); file != known.end())
        GPUHOST_CHECK(remove_ours(edit, document, file->second, desired, path));
    GPUHOST_TRY(edited, edit_docker(now.value_or(""), edit, path));
    RuntimeChange change;
    Text after = edited;
    if (!now && (edited.empty() || edited == "{}\n"))
        after = Text();
    GPUHOST_TRY(content, document_of(after, path));
    ConfigFile file = state.files.front();
    file.exists = after.has_value();
    file.content = content;
    change.after = configured(state.instance, {file});
    if (after == now)
        return change;
    change.files = {{path, now, after}};
    change.reasons = lacking(state.config, desired);
    if (change.reasons.empty())
        change.reasons.emplace_back("gpuhost's part of it is no longer needed");
    change.is_effective = content != document;
    return change;
}

} // namespace gpuhost::runtime
