// SPDX-License-Identifier: Apache-2.0
#include "images/host/mirrors.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/registry_hosts.hpp"
#include "images/bundle/reference.hpp"
#include "images/host/containerd_config.hpp"
#include "images/host/k3s.hpp"
#include "images/host/registries_conf.hpp"
#include "images/store/catalogue.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>

#include <sys/stat.h>

namespace gpuhost::images {

using base::Root;
using content::FileOperation;
using core::containerd_certs;
using core::SettingKey;
using core::SettingType;

namespace {

constexpr std::string_view containerd = "/etc/containerd";
constexpr std::string_view containers = "/etc/containers";

bool is_registry(const std::string& text) {
    const auto reference = parse_reference(text + "/image");
    return reference && reference->registry == text;
}

std::string address_mistake(std::string_view value) {
    return is_registry(std::string(value)) ? "" : "not an address: write it like 127.0.0.1:299";
}

constexpr std::array keys{
    SettingKey{"Mirrors", "Manage", SettingType::Boolean, "yes", "",
               "configure container runtimes to pull from this host's registry"},
    SettingKey{"Mirrors", "Address", SettingType::String, "127.0.0.1:299", "",
               "address of gpuhost-registry.socket", "", address_mistake},
    SettingKey{"Mirrors", "Upstream", SettingType::Boolean, "yes", "",
               "let runtimes ask the registry itself for images that are not in a bundle"},
};

std::string hosts_path(const std::string& registry) {
    return std::string(containerd_certs) + "/" + registry + "/hosts.toml";
}

/// Reports whether the file exists and was not written by gpuhost.
bool is_theirs(const Root& root, const std::string& path) {
    return root.exists(path) && !content::is_ours(root, path);
}

std::string endpoint_of(const MirrorSettings& settings) {
    return "http://" + settings.address;
}

/// Returns the second name that containerd accepts for a registry's directory, "registry.example_5000_".
/// Returns the registry unchanged if it has no port.
std::string directory_with_port(const std::string& registry) {
    return registry.find(':') == std::string::npos ? registry : registry_path(registry) + "_";
}

/// Returns the directory for this registry in one of `roots`, the directories in config_path other than
/// certs.d. Empty if there is none. containerd reads the configuration of a registry from only one directory
/// of config_path.
std::string other_root_setup(const Root& root, const std::vector<std::string>& roots,
                             const std::string& registry) {
    for (const std::string& other : roots)
        for (const std::string& name : {registry, directory_with_port(registry)})
            if (const std::string directory = other + "/" + name; root.exists(directory))
                return directory;
    return {};
}

/// Returns the path of an existing configuration of this registry that a hosts.toml of gpuhost would disable;
/// empty if there is none. With a hosts.toml, containerd ignores certificates in the registry's directory.
/// With a directory for the registry, it ignores "_default".
std::string containerd_setup(const Root& root, const std::string& registry) {
    std::string directory = std::string(containerd_certs) + "/" + registry;
    const auto st = root.lstat(directory);
    if (st && !S_ISDIR(st->st_mode))
        return directory;
    for (const std::string& name : root.list(directory).value_or(std::vector<std::string>()))
        if (name != "hosts.toml" || is_theirs(root, hosts_path(registry)))
            return directory + "/" + name;
    std::string other_form = std::string(containerd_certs) + "/" + directory_with_port(registry);
    if (other_form != directory && root.exists(other_form))
        return other_form;
    return is_theirs(root, hosts_path("_default")) ? hosts_path("_default") : std::string();
}

/// Adds to `to` the removal of files that gpuhost wrote and that are not in `wanted`.
void add_stale(const Root& root, const std::set<std::string>& wanted, std::vector<FileOperation>& to) {
    for (const std::string& registry : root.list(containerd_certs).value_or(std::vector<std::string>())) {
        const std::string path = hosts_path(registry);
        if (wanted.count(path) == 0 && root.exists(path) && content::is_ours(root, path))
            to.push_back({FileOperation::Type::Remove, path, {}});
    }
    std::vector<std::string_view> of_all{containers_file};
    for (const K3s& k3s : k3s_kinds)
        of_all.push_back(k3s.registries);
    for (const std::string_view path : of_all)
        if (wanted.count(std::string(path)) == 0 && root.exists(path) && content::is_ours(root, path))
            to.push_back({FileOperation::Type::Remove, std::string(path), {}});
}

bool is_namespace(const std::string& text) {
    const std::string image = text + "/image";
    const auto reference = parse_reference(image);
    return reference && reference->registry + "/" + reference->repository == image;
}

std::vector<FileOperation> containerd_files(const Root& root, const Registries& registries,
                                            const MirrorSettings& settings, std::vector<std::string>& left) {
    std::vector<FileOperation> files;
    const std::vector<std::string> other_roots = other_registry_roots(root);
    for (const std::string& registry : registries.names) {
        std::string setup = containerd_setup(root, registry);
        if (setup.empty())
            setup = other_root_setup(root, other_roots, registry);
        if (setup.empty())
            files.push_back({FileOperation::Type::Write, hosts_path(registry), containerd_hosts(settings)});
        else
            left.push_back(setup + " is not gpuhost's: containerd does not ask this host for images of " +
                           registry);
    }
    if (const std::string problem = files.empty() ? "" : certs_problem(root); !problem.empty())
        left.push_back(problem);
    return files;
}

std::optional<FileOperation> containers_conf(const Root& root, const Registries& registries,
                                             const MirrorSettings& settings, std::vector<std::string>& left) {
    const std::set<std::string> theirs = configured_hosts(root);
    Registries ours;
    for (const std::string& registry : registries.names)
        if (is_configured(theirs, registry))
            left.push_back("registries.conf has " + registry +
                           " already: podman and CRI-O do not ask this host for its images");
        else if (is_repository(registry_path(registry)))
            ours.names.push_back(registry);
        else
            left.push_back("podman and CRI-O can't ask this host for images of '" + registry +
                           "': it is not valid in a path");
    if (ours.names.empty())
        return std::nullopt;
    ours.namespaces = registries.namespaces;
    if (is_theirs(root, std::string(containers_file))) {
        left.push_back(std::string(containers_file) +
                       " is not gpuhost's: podman and CRI-O do not ask this host");
        return std::nullopt;
    }
    return FileOperation{FileOperation::Type::Write, std::string(containers_file),
                         containers_registries(ours, settings)};
}

/// Returns the prefixes of image names for registries.conf. A prefix "registry.example" would also match
/// images of "registry.example:5000", whose pulls would then fail. A registry without a port therefore has
/// one prefix for each namespace, "registry.example/team". With Upstream=no the prefix is the whole registry,
/// except for "localhost". Podman names images without a registry "localhost/…", and a real registry
/// "localhost:5000" may exist beside it.
std::vector<std::string> prefixes_of(const Registries& registries, const MirrorSettings& settings) {
    std::vector<std::string> prefixes;
    for (const std::string& registry : registries.names) {
        const auto first = prefixes.size();
        if (settings.upstream || registry == "localhost")
            std::copy_if(registries.namespaces.begin(), registries.namespaces.end(),
                         std::back_inserter(prefixes),
                         [&](const std::string& one) { return base::starts_with(one, registry + "/"); });
        if (prefixes.size() == first)
            prefixes.push_back(registry);
    }
    return prefixes;
}

std::vector<FileOperation> k3s_files(const Root& root, const Registries& registries,
                                     const MirrorSettings& settings, std::vector<std::string>& left) {
    std::vector<FileOperation> files;
    for (const K3s& k3s : k3s_kinds) {
        if (!is_here(root, k3s) || registries.names.empty())
            continue;
        const std::string name(k3s.name);
        const std::string path(k3s.registries);
        if (is_theirs(root, path)) {
            if (root.read(path).value_or("").find(endpoint_of(settings)) == std::string::npos)
                left.push_back(path + " is not gpuhost's: " + name + " asks this host for images only if " +
                               base::join(registries.names, ", ") + " have the endpoint " +
                               endpoint_of(settings) + " there");
            continue;
        }
        files.push_back(
            {FileOperation::Type::Write, path, k3s_registries(registries.names, endpoint_of(settings))});
        if (has_to_read_registries(root, k3s))
            left.push_back(name + " uses an older version of " + path + ": restart it");
    }
    return files;
}

} // namespace

std::span<const SettingKey> mirror_setting_keys() {
    return keys;
}

MirrorSettings mirror_settings(const core::Settings& settings) {
    return {settings.boolean("Mirrors", "Manage"), settings.string("Mirrors", "Address"),
            settings.boolean("Mirrors", "Upstream")};
}

std::string registry_path(std::string registry) {
    std::replace(registry.begin(), registry.end(), ':', '_');
    return registry;
}

std::string containerd_hosts(const MirrorSettings& settings) {
    const std::string ours = endpoint_of(settings);
    const std::string text(content::file_mark);
    // This file has an empty table [host], because containerd 1.x ignores a file without that table.
    if (!settings.upstream)
        return text + "server = \"" + ours + "\"\n[host]\n";
    // This file has no `server`, so containerd asks the registry itself after the hosts in the tables. The
    // first dial_timeout is for that registry, which may be unreachable. Versions before containerd 2.1 and
    // 2.0.7 ignore that timeout and wait 30 s.
    return text + "dial_timeout = \"5s\"\n[host.\"" + ours +
           "\"]\n  capabilities = [\"pull\", \"resolve\"]\n  dial_timeout = \"2s\"\n";
}

std::string containers_registries(const Registries& registries, const MirrorSettings& settings) {
    std::string text(content::file_mark);
    for (const std::string& prefix : prefixes_of(registries, settings)) {
        const std::string host = prefix.substr(0, prefix.find('/'));
        const std::string ours = "location = \"" + settings.address + "/" + registry_path(host) +
                                 prefix.substr(host.size()) + "\"\ninsecure = true\n";
        text += "\n[[registry]]\nprefix = \"" + prefix + "\"\n";
        text += settings.upstream ? "location = \"" + prefix + "\"\n[[registry.mirror]]\n" + ours : ours;
    }
    return text;
}

Registries mirrored_registries(const Root& root) {
    const Catalogue catalogue(root);
    Registries registries;
    const auto bundles = catalogue.names();
    if (!bundles)
        registries.problems.push_back(bundles.error().message);
    std::set<std::string> names;
    std::set<std::string> namespaces;
    for (const std::string& bundle : bundles.value_or(std::vector<std::string>())) {
        const auto record = catalogue.record(bundle);
        if (!record)
            registries.problems.push_back(record.error().message);
        for (const std::string& registry : record ? record->registries : std::vector<std::string>()) {
            if (is_registry(registry)) // checked, because it becomes a component of a path
                names.insert(registry);
            else
                registries.problems.push_back("bundle '" + bundle + "': '" + registry +
                                              "' is not a registry");
        }
        for (const std::string& one : record ? record->namespaces : std::vector<std::string>())
            if (is_namespace(one))
                namespaces.insert(one);
    }
    registries.names.assign(names.begin(), names.end());
    registries.namespaces.assign(namespaces.begin(), namespaces.end());
    return registries;
}

bool will_lead_containerd(const Root& root, const core::Settings& settings) {
    std::set<std::string> files;
    for (const std::string& registry : root.list(containerd_certs).value_or(std::vector<std::string>()))
        if (const std::string path = hosts_path(registry); root.exists(path) && content::is_ours(root, path))
            files.insert(path);
    for (const FileOperation& change :
         observe_mirrors(root, mirrored_registries(root), mirror_settings(settings)).wrong)
        if (change.type == FileOperation::Type::Remove)
            files.erase(change.path);
        else if (base::ends_with(change.path, "/hosts.toml"))
            files.insert(change.path);
    return !files.empty();
}

Mirrors observe_mirrors(const Root& root, const Registries& registries, const MirrorSettings& settings) {
    Mirrors mirrors{{}, registries.problems};
    std::vector<FileOperation> files;
    if (settings.enable && !is_registry(settings.address)) {
        mirrors.left.push_back("[Mirrors] Address=" + settings.address + " is " +
                               address_mistake(settings.address));
        return mirrors;
    }
    if (settings.enable && root.exists(containerd))
        files = containerd_files(root, registries, settings, mirrors.left);
    if (settings.enable && root.exists(containers))
        if (auto conf = containers_conf(root, registries, settings, mirrors.left))
            files.push_back(*std::move(conf));
    if (settings.enable)
        for (FileOperation& file : k3s_files(root, registries, settings, mirrors.left))
            files.push_back(std::move(file));
    std::set<std::string> wanted;
    for (FileOperation& file : files) {
        wanted.insert(file.path);
        // Does not rewrite a file that lists all registries while a record is unreadable, because that
        // bundle's registries are unknown.
        const bool incomplete = !base::ends_with(file.path, "/hosts.toml") && !registries.problems.empty() &&
                                root.exists(file.path);
        if (!incomplete && !content::is_done(root, file))
            mirrors.wrong.push_back(std::move(file));
    }
    if (registries.problems.empty() || !settings.enable)
        add_stale(root, wanted, mirrors.wrong);
    return mirrors;
}

} // namespace gpuhost::images
