// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/config.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/runtime/toml/toml.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::runtime {

using base::Json;
using base::Result;

namespace {

constexpr std::string_view ldconfig_key = "nvidia-container-cli.ldconfig";
constexpr std::string_view environment_key = "nvidia-container-cli.environment";

bool is_suse(const base::Root& root) {
    const std::string text = root.read("/etc/os-release").value_or(std::string());
    for (const std::string& line : base::split(text, '\n'))
        if (base::starts_with(line, "ID_LIKE="))
            return line.find("suse") != std::string::npos;
    return false;
}

bool has(const ToolkitFacts& facts, std::string_view program) {
    return std::find(facts.programs.begin(), facts.programs.end(), program) != facts.programs.end();
}

/// Adds the library directory to LD_LIBRARY_PATH, unless Options= sets that variable. nvidia-container-cli
/// loads one of its libraries with dlopen(3), which ignores the program's own search path.
void add_libraries(Json& document, const ToolkitFacts& facts) {
    constexpr std::string_view variable = "LD_LIBRARY_PATH=";
    Json words = get_option(document, environment_key);
    if (facts.libraries.empty() || !words.is_array() ||
        std::any_of(words.begin(), words.end(), [&](const Json& word) {
            return word.is_string() && base::starts_with(word.get<std::string>(), variable);
        }))
        return;
    words.push_back(std::string(variable) + std::string(toolkit_current) + "/" + facts.libraries);
    set_option(document, environment_key, std::move(words));
}

/// Sets paths of programs that NVIDIA's tools would search in /usr/bin or in the loader's cache. gpuhost's
/// toolkit is in neither.
void set_places(Json& document, const ToolkitFacts& facts) {
    const std::string current(toolkit_current);
    for (const char* program : {"nvidia-ctk", "nvidia-container-runtime-hook", "nvidia-container-cli"})
        if (has(facts, program))
            set_option(document, std::string(program) + ".path", current + "/usr/bin/" + program);
    if (facts.has_real_ldconfig)
        set_option(document, ldconfig_key, "@/sbin/ldconfig.real");
    if (facts.is_suse)
        set_option(document, "nvidia-container-cli.user", "root:video");
}

/// Returns true if nvidia-container-runtime would refuse to start any container with this value of
/// `ldconfig`.
bool is_refused_ldconfig(const Json& document) {
    const Json& path = get_option(document, ldconfig_key);
    return !base::starts_with(path.is_string() ? path.get<std::string>() : std::string(), "@") &&
           get_option(document, "features.allow-ldconfig-from-container") != Json(true);
}

} // namespace

ToolkitFacts toolkit_facts(const base::Root& root, const ToolkitSet& set) {
    ToolkitFacts facts{root.stat("/sbin/ldconfig.real").has_value(), is_suse(root), set.libraries(),
                       set.programs(), false};
    facts.has_cli = has(facts, "nvidia-container-cli") || root.stat("/usr/bin/nvidia-container-cli");
    return facts;
}

ToolkitConfig make_toolkit_config(const ToolkitSettings& settings, const ToolkitFacts& facts) {
    ToolkitConfig config{default_toolkit_config(), {}};
    set_places(config.document, facts);
    set_option(config.document, "nvidia-container-runtime.mode", settings.mode);
    const Json ldconfig = get_option(config.document, ldconfig_key);
    for (const std::string& word : settings.options) {
        auto parsed = parse_toolkit_option(word);
        if (parsed)
            set_option(config.document, parsed->option->key, std::move(parsed->value));
        else
            config.problems.push_back("[Toolkit] Options=: " + parsed.error().message);
    }
    add_libraries(config.document, facts);
    if (settings.mode == "legacy" && !facts.has_cli)
        config.problems.emplace_back(
            "[Toolkit] Mode=legacy needs nvidia-container-cli, which is neither in this toolkit nor "
            "on the host: import libnvidia-container-tools and libnvidia-container1 with it");
    if (is_refused_ldconfig(config.document)) {
        config.problems.emplace_back(
            "[Toolkit] Options=: nvidia-container-cli.ldconfig must be a path of the host that begins with "
            "@, unless features.allow-ldconfig-from-container is true");
        set_option(config.document, ldconfig_key, ldconfig);
    }
    return config;
}

std::string toolkit_config_text(const Json& document) {
    return std::string(content::file_mark) + to_toml(document);
}

std::string_view name_of(ConfigState state) {
    switch (state) {
    case ConfigState::None:
        return "none";
    case ConfigState::Ours:
        return "ours";
    case ConfigState::Outdated:
        return "outdated";
    case ConfigState::Other:
        return "other";
    }
    return {};
}

ConfigState toolkit_config_state(const base::Root& root, std::string_view wanted) {
    const std::string path(toolkit_config_path);
    if (!root.exists(path))
        return ConfigState::None;
    if (!content::is_ours(root, path))
        return ConfigState::Other;
    return root.read(path).value_or(std::string()) == wanted ? ConfigState::Ours : ConfigState::Outdated;
}

Result<std::vector<std::string>> others_options(const base::Root& root, const Json& ours) {
    const std::string path(toolkit_config_path);
    GPUHOST_TRY(text, root.read(path));
    GPUHOST_TRY(theirs, parse_toml(text, path));
    std::vector<std::string> sentences;
    for (const OptionDifference& one : compare_toolkit_configs(theirs, ours))
        sentences.push_back(one.key + " is " + base::dump(one.theirs) + ", but gpuhost would set " +
                            base::dump(one.ours));
    return sentences;
}

Result<AcceptedRequests> accepted_requests(const base::Root& root, std::string_view binary) {
    AcceptedRequests accepted;
    if (const std::string beside = std::string(binary.substr(0, binary.rfind('/') + 1)) +
                                   ".config/nvidia-container-runtime/config.toml";
        base::starts_with(binary, "/") && root.exists(beside))
        accepted.file = beside;
    if (!root.exists(accepted.file))
        return accepted;
    accepted.ours = content::is_ours(root, accepted.file);
    GPUHOST_TRY(text, root.read(accepted.file));
    GPUHOST_TRY(document, parse_toml(text, accepted.file));
    for (const auto& [key, value] :
         {std::pair(envvar_option, &accepted.envvar), std::pair(mounts_option, &accepted.volume_mounts)}) {
        const Json& said = get_option(document, key);
        if (!said.is_null() && !said.is_boolean())
            return base::fail(base::Errc::BadContent,
                              accepted.file + ": " + std::string(key) + " must be true or false");
        *value = said.is_null() ? *value : said.get<bool>();
    }
    return accepted;
}

} // namespace gpuhost::runtime
