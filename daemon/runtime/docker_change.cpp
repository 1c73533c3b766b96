// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/runtime/docker_edit.hpp"
#include "daemon/runtime/runtime_change.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;
using base::member;
using base::Result;

namespace {

Result<Json> document_of(const Text& text, const std::string& path) {
    return text && !base::trim(*text).empty() ? parse_json_object(*text, path) : Json::object();
}

bool wants(const RuntimeWish& wish, const std::string& name) {
    return std::any_of(wish.classes.begin(), wish.classes.end(),
                       [&](const RuntimeClass& one) { return one.name == name; });
}

void add_wished(DockerEdit& edit, const RuntimeState& state, const RuntimeWish& wish) {
    if (wish.cdi && state.config.cdi == CdiState::Off)
        edit.cdi = true;
    if (wish.cdi && !reads_specs_in(state.config, wish.spec_directory)) {
        edit.spec_dirs = state.config.cdi_spec_dirs;
        edit.spec_dirs->push_back(wish.spec_directory);
    }
    for (const RuntimeClass& one : wish.classes)
        edit.runtimes[one.name] = one.binary;
    if (!wish.default_class.empty())
        edit.default_runtime = wish.default_class;
}

/// What stands there since us and is not wished: as it was before.
void take_back(DockerEdit& edit, const Json& now, const Json& before, const RuntimeWish& wish) {
    for (const auto& [name, said] : member(now, "runtimes").items())
        if (base::starts_with(name, "nvidia") && !wants(wish, name) &&
            !member(member(before, "runtimes"), name).is_object())
            edit.removed_runtimes.push_back(name);
    const std::string chosen = base::string_or(now, "default-runtime", "");
    if (wish.default_class.empty() && base::starts_with(chosen, "nvidia") &&
        base::string_or(before, "default-runtime", "") != chosen)
        edit.default_runtime = base::string_or(before, "default-runtime", "");
    const Json& cdi = member(member(before, "features"), "cdi");
    if (!wish.cdi && member(member(now, "features"), "cdi") != cdi) {
        edit.drop_cdi = !cdi.is_boolean();
        if (cdi.is_boolean())
            edit.cdi = cdi.get<bool>();
    }
    if (!wish.cdi && member(now, "cdi-spec-dirs") != member(before, "cdi-spec-dirs"))
        edit.spec_dirs = base::strings_or_empty(before, "cdi-spec-dirs");
}

} // namespace

Result<RuntimeChange> docker_change(const RuntimeState& state, const RuntimeWish& wish,
                                    const std::map<std::string, Text>& texts,
                                    const std::map<std::string, Text>& originals) {
    const std::string& path = state.instance.config;
    const Text& now = texts.at(path);
    GPUHOST_TRY(document, document_of(now, path));
    DockerEdit edit;
    add_wished(edit, state, wish);
    if (const auto original = originals.find(path); original != originals.end()) {
        GPUHOST_TRY(before, document_of(original->second, path));
        take_back(edit, document, before, wish);
    }
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
    change.reasons = lacking(state.config, wish);
    if (change.reasons.empty())
        change.reasons.emplace_back("gpuhost's part of it is no longer wanted");
    change.is_effective = content != document;
    return change;
}

} // namespace gpuhost::runtime
