// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/desired_config.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/registry_hosts.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;

namespace {

struct KnownClass {
    std::string_view name;
    std::string_view program;
};
constexpr std::array known_classes{KnownClass{"nvidia", "nvidia-container-runtime"},
                                   KnownClass{"nvidia-cdi", "nvidia-container-runtime.cdi"},
                                   KnownClass{"nvidia-legacy", "nvidia-container-runtime.legacy"}};

const KnownClass* find_class(const std::string& name) {
    const auto found = std::find_if(known_classes.begin(), known_classes.end(),
                                    [&](const KnownClass& known) { return known.name == name; });
    return found == known_classes.end() ? nullptr : &*found;
}

RuntimeClass class_of(const KnownClass& known, const RuntimeSettings& settings) {
    return {std::string(known.name), settings.toolkit.directory + "/" + std::string(known.program)};
}

bool is_here(const base::Root& root, const KnownClass& known, const RuntimeSettings& settings) {
    return !settings.toolkit.programs.empty() &&
           root.stat(settings.toolkit.programs + "/" + std::string(known.program));
}

base::Error not_here(const RuntimeClass& missing, const RuntimeSettings& settings) {
    if (settings.toolkit.directory.empty())
        return {Errc::NotFound,
                "runtime class '" + missing.name + "' needs NVIDIA's toolkit, but none is in use",
                "Import one, or set Version= in section [Toolkit], or Classes=none in section [Runtime]."};
    return {
        Errc::NotFound, "runtime class '" + missing.name + "': '" + missing.binary + "' not found",
        "Import NVIDIA's container toolkit, or set ToolkitDirectory= or Classes=none in section [Runtime]."};
}

/// Returns the classes whose programs this host's toolkit has; an old toolkit lacks some.
std::vector<RuntimeClass> classes_here(const base::Root& root, const RuntimeSettings& settings) {
    std::vector<RuntimeClass> classes;
    for (const KnownClass& known : known_classes)
        if (is_here(root, known, settings))
            classes.push_back(class_of(known, settings));
    return classes;
}

Result<std::vector<RuntimeClass>> named_classes(const base::Root& root, const RuntimeSettings& settings) {
    std::vector<RuntimeClass> classes;
    for (const std::string& name : settings.classes) {
        const KnownClass* const known = find_class(name);
        if (known == nullptr)
            return base::fail(Errc::InvalidArgument,
                              "Classes=" + base::join(settings.classes, " ") + " in section [Runtime]: '" +
                                  name + "' is not a runtime class of NVIDIA's toolkit",
                              "Set auto, none, or some of nvidia, nvidia-cdi and nvidia-legacy.");
        RuntimeClass one = class_of(*known, settings);
        if (!is_here(root, *known, settings))
            return base::fail(not_here(one, settings));
        classes.push_back(std::move(one));
    }
    return classes;
}

std::string plain(const std::string& directory) {
    const std::string path = directory.substr(0, directory.find_last_not_of('/') + 1);
    return base::starts_with(path, "/var/run/") ? path.substr(4) : path;
}

} // namespace

bool reads_specs_in(const RuntimeConfig& config, const std::string& directory) {
    return std::any_of(config.cdi_spec_dirs.begin(), config.cdi_spec_dirs.end(),
                       [&](const std::string& one) { return plain(one) == plain(directory); });
}

Result<DesiredConfig> desired_config(const base::Root& root, const RuntimeConfig& config,
                                     const std::string& version, const RuntimeSettings& settings) {
    DesiredConfig desired;
    desired.cdi = settings.cdi && (config.cdi == CdiState::On || config.cdi == CdiState::Off);
    desired.spec_directory = settings.cdi_directory;
    desired.registry_hosts = settings.registry_hosts && config.registry_hosts != RegistryHosts::Other;
    const bool is_auto = settings.classes == std::vector<std::string>{"auto"};
    if (is_auto && config.cdi == CdiState::Unsupported && settings.cdi) {
        desired.classes = classes_here(root, settings);
        if (desired.classes.empty())
            return base::fail(
                Errc::Unsupported,
                "version " + version + " does not support CDI, and NVIDIA's toolkit is not " +
                    (settings.toolkit.directory.empty() ? "in use" : "in " + settings.toolkit.directory),
                "Install a newer version of the runtime, or import NVIDIA's container toolkit.");
    } else if (!is_auto && settings.classes != std::vector<std::string>{"none"}) {
        GPUHOST_TRY(classes, named_classes(root, settings));
        desired.classes = std::move(classes);
    }
    desired.default_class = settings.default_class;
    const bool is_there =
        std::any_of(desired.classes.begin(), desired.classes.end(),
                    [&](const RuntimeClass& one) { return one.name == desired.default_class; });
    if (!desired.default_class.empty() && !is_there)
        return base::fail(Errc::InvalidArgument,
                          "DefaultClass=" + desired.default_class +
                              " in section [Runtime] is not in Classes=",
                          "Add it to Classes=.");
    return desired;
}

std::vector<std::string> lacking_for_gpus(const RuntimeConfig& config, const DesiredConfig& desired) {
    std::vector<std::string> phrases;
    if (desired.cdi && config.cdi != CdiState::On)
        phrases.emplace_back("CDI is off");
    if (desired.cdi && !reads_specs_in(config, desired.spec_directory))
        phrases.push_back("CDI does not read " + desired.spec_directory);
    for (const RuntimeClass& wanted : desired.classes) {
        const auto found = std::find_if(config.handlers.begin(), config.handlers.end(),
                                        [&](const RuntimeHandler& one) { return one.name == wanted.name; });
        if (found == config.handlers.end())
            phrases.push_back("runtime class '" + wanted.name + "' is missing");
        else if (found->binary != wanted.binary)
            phrases.push_back("runtime class '" + wanted.name + "' uses '" + found->binary + "'");
    }
    if (!desired.default_class.empty() && config.default_handler != desired.default_class)
        phrases.push_back("the default runtime is '" + config.default_handler + "'");
    return phrases;
}

std::vector<std::string> lacking(const RuntimeConfig& config, const DesiredConfig& desired) {
    std::vector<std::string> phrases = lacking_for_gpus(config, desired);
    if (desired.registry_hosts && config.registry_hosts != RegistryHosts::Read)
        phrases.push_back("images for pods are pulled without " + std::string(core::containerd_certs));
    return phrases;
}

} // namespace gpuhost::runtime
