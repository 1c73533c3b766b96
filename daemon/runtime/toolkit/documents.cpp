// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/documents.hpp"

#include "daemon/runtime/toolkit/config.hpp"

namespace gpuhost::runtime {

using base::Json;

namespace {

/// Describes config.toml: its state, and the options that another program's file sets differently.
Json config_document(const base::Root& root, const ToolkitSettings& settings, const ToolkitSet* set) {
    const ToolkitConfig config =
        set != nullptr ? make_toolkit_config(settings, toolkit_facts(root, *set)) : ToolkitConfig();
    const std::string text = set != nullptr ? toolkit_config_text(config.document) : std::string();
    const ConfigState state = toolkit_config_state(root, text);
    Json document{{"path", toolkit_config_path},
                  {"state", name_of(state)},
                  {"text", text},
                  {"problems", config.problems},
                  {"differences", Json::array()}};
    if (state != ConfigState::Other || set == nullptr)
        return document;
    const auto others = others_options(root, config.document);
    if (others)
        document["differences"] = *others;
    else
        document["problems"].push_back(others.error().message);
    return document;
}

} // namespace

Json toolkit_document(const base::Root& root, const ToolkitSettings& settings) {
    const ToolkitStore store = read_toolkit_store(root);
    const std::string current = current_toolkit(root);
    const bool is_preinstalled = is_toolkit_in(root, preinstalled_directory(settings));
    const ToolkitChoice wanted = choose_toolkit(settings, store, current, is_preinstalled);
    const ToolkitSet* const selected = store.at(current);
    const ToolkitSet* const chosen = store.at(wanted.path);
    const ToolkitSet* const shown = selected != nullptr ? selected : chosen;
    return {{"source", name_of(wanted.source)},
            {"wanted", wanted.version},
            {"problem", wanted.problem},
            {"selected", selected != nullptr ? selected->manifest.version : std::string()},
            {"path", current},
            {"directory", wanted.directory},
            {"mode", settings.mode},
            {"packages", shown != nullptr ? shown->manifest.packages : std::vector<std::string>()},
            {"programs", shown != nullptr ? shown->programs() : std::vector<std::string>()},
            {"config", config_document(root, settings, chosen)}};
}

} // namespace gpuhost::runtime
