// SPDX-License-Identifier: Apache-2.0
#include "images/mirrors.hpp"

#include "daemon/base/parse.hpp"
#include "images/catalogue.hpp"
#include "images/reference.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace gpuhost::images {

using base::Result;
using base::Root;
using content::FileOperation;
using core::SettingKey;
using core::SettingType;

namespace {

constexpr std::string_view containerd = "/etc/containerd";
constexpr std::string_view certs = "/etc/containerd/certs.d";
constexpr std::string_view containers = "/etc/containers";
constexpr std::string_view containers_file = "/etc/containers/registries.conf.d/50-gpuhost.conf";

constexpr std::array keys{
    SettingKey{"Mirrors", "Enable", SettingType::Boolean, "yes", "",
               "lead the container runtimes of this host to its registry"},
    SettingKey{"Mirrors", "Address", SettingType::String, "127.0.0.1:7715", "",
               "where gpuhost-registry.socket listens"},
    SettingKey{"Mirrors", "Upstream", SettingType::Boolean, "yes", "",
               "let runtimes ask a registry itself for what no bundle has"},
};

std::string hosts_path(const std::string& registry) {
    return std::string(certs) + "/" + registry + "/hosts.toml";
}

/// A path has no colons: "registry.example:5000" is "registry.example_5000" there, as in the registry's own.
std::string component_of(std::string registry) {
    std::replace(registry.begin(), registry.end(), ':', '_');
    return registry;
}

/// Ours, and wanted no longer.
void add_stale(const Root& root, const std::set<std::string>& wanted, std::vector<FileOperation>& to) {
    for (const std::string& registry : root.list(certs).value_or(std::vector<std::string>())) {
        const std::string path = hosts_path(registry);
        if (wanted.count(path) == 0 && root.exists(path) && content::is_ours(root, path))
            to.push_back({FileOperation::Type::Remove, path, {}});
    }
    if (wanted.count(std::string(containers_file)) == 0 && root.exists(containers_file) &&
        content::is_ours(root, containers_file))
        to.push_back({FileOperation::Type::Remove, std::string(containers_file), {}});
}

} // namespace

std::span<const SettingKey> mirror_setting_keys() {
    return keys;
}

MirrorSettings mirror_settings(const core::Settings& settings) {
    return {settings.boolean("Mirrors", "Enable"), settings.string("Mirrors", "Address"),
            settings.boolean("Mirrors", "Upstream")};
}

std::string containerd_hosts(const MirrorSettings& settings) {
    const std::string ours = "http://" + settings.address;
    const std::string text(content::file_mark);
    // containerd 1.x takes no notice of a file without a table of hosts, and an empty one is one.
    if (!settings.upstream)
        return text + "server = \"" + ours + "\"\n[host]\n";
    // Without a server, containerd asks the registry itself last. A host that doesn't answer is asked for each layer.
    return text + "[host.\"" + ours +
           "\"]\n  capabilities = [\"pull\", \"resolve\"]\n  dial_timeout = \"2s\"\n";
}

std::string containers_registries(const std::vector<std::string>& registries,
                                  const MirrorSettings& settings) {
    std::string text(content::file_mark);
    for (const std::string& registry : registries) {
        const std::string ours =
            "location = \"" + settings.address + "/" + component_of(registry) + "\"\ninsecure = true\n";
        text += "\n[[registry]]\nprefix = \"" + registry + "\"\n";
        text += settings.upstream ? "location = \"" + registry + "\"\n[[registry.mirror]]\n" + ours : ours;
    }
    return text;
}

Result<std::vector<std::string>> mirrored_registries(const Root& root) {
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    std::set<std::string> registries;
    for (const std::string& name : names) {
        GPUHOST_TRY(record, catalogue.record(name));
        for (const std::string& registry : record.registries) {
            const auto reference = parse_reference(registry + "/image"); // it becomes a part of a path
            if (!reference || reference->registry != registry)
                return base::fail(base::Errc::BadContent,
                                  "bundle '" + name + "': '" + registry + "' is no registry",
                                  "Import the bundle again.");
            registries.insert(registry);
        }
    }
    return std::vector<std::string>(registries.begin(), registries.end());
}

Mirrors look_at_mirrors(const Root& root, const std::vector<std::string>& registries,
                        const MirrorSettings& settings) {
    std::vector<FileOperation> files;
    if (settings.enable && root.exists(containerd))
        for (const std::string& registry : registries)
            files.push_back({FileOperation::Type::Write, hosts_path(registry), containerd_hosts(settings)});
    if (settings.enable && root.exists(containers) && !registries.empty())
        files.push_back({FileOperation::Type::Write, std::string(containers_file),
                         containers_registries(registries, settings)});
    Mirrors mirrors;
    std::set<std::string> wanted;
    for (FileOperation& file : files) {
        wanted.insert(file.path);
        if (!content::is_ours(root, file.path))
            mirrors.foreign.push_back(file.path);
        else if (!content::is_done(root, file))
            mirrors.wrong.push_back(std::move(file));
    }
    add_stale(root, wanted, mirrors.wrong);
    return mirrors;
}

} // namespace gpuhost::images
