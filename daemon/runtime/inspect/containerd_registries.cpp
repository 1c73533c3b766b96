// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/containerd_registries.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/core/registry_hosts.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;
using base::member;

namespace {

constexpr std::uint64_t default_downloads = 3;

bool is_certs(std::string_view path) {
    return path.substr(0, path.find_last_not_of('/') + 1) == core::containerd_certs;
}

bool has_entries(const Json& value) {
    return value.is_object() && !value.empty();
}

/// Returns true if the CRI itself pulls images. Since 2.1 the transfer service pulls them. The exceptions are
/// that the CRI is set to pull, or has a setting that the transfer service does not support:
/// CheckLocalImagePullConfigs() in internal/cri/config/config.go.
bool pulls_locally(const Json& images, const RuntimeVersion& version) {
    const Json& registry = member(images, "registry");
    return !version.is_at_least(2, 1) || base::bool_or(images, "use_local_image_pull", false) ||
           base::bool_or(images, "discard_unpacked_layers", false) ||
           base::bool_or(images, "image_pull_with_sync_fs", false) ||
           !base::bool_or(images, "disable_snapshot_annotations", true) ||
           base::int_or(images, "max_concurrent_downloads", default_downloads) != default_downloads ||
           has_entries(member(registry, "configs")) || has_entries(member(registry, "auths"));
}

/// Returns true if a registry has TLS settings. In containerd 1.x, config_path together with TLS settings is
/// an error; in 2.x it would disable the TLS settings.
bool has_certificates(const Json& configs) {
    return configs.is_object() && std::any_of(configs.begin(), configs.end(), [](const Json& one) {
               return has_entries(member(one, "tls"));
           });
}

} // namespace

RegistryHosts registry_hosts(const Json& images, const std::optional<RuntimeVersion>& version) {
    if (!version || !version->is_at_least(1, 5))
        return RegistryHosts::Other;
    const Json& registry = member(images, "registry");
    const std::string path = base::string_or(registry, "config_path", "");
    const bool is_local = pulls_locally(images, *version);
    if (is_certs(path))
        return RegistryHosts::Read;
    if (path.empty() &&
        (has_entries(member(registry, "mirrors")) || has_certificates(member(registry, "configs"))))
        return RegistryHosts::Other;
    if (path.empty()) // the default of 2.2 and later: certs.d, then Docker's directory
        return is_local && version->is_at_least(2, 2) ? RegistryHosts::Read : RegistryHosts::Unread;
    const auto paths = base::split(path, ':');
    if (std::none_of(paths.begin(), paths.end(), is_certs))
        return RegistryHosts::Other;
    return is_local ? RegistryHosts::Read : RegistryHosts::Unread;
}

bool has_registry_hosts(const base::Root& root) {
    const std::string directory(core::containerd_certs);
    const auto registries = root.list(directory).value_or(std::vector<std::string>());
    return std::any_of(registries.begin(), registries.end(), [&](const std::string& registry) {
        const std::string file = directory + "/" + registry + "/hosts.toml";
        return root.exists(file) && content::is_ours(root, file);
    });
}

} // namespace gpuhost::runtime
