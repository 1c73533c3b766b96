// SPDX-License-Identifier: Apache-2.0
#include "images/host/repositories.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/distribution.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace gpuhost::images {

using base::Root;
using content::FileOperation;

namespace {

constexpr std::array keys{
    core::SettingKey{"Packages", "Manage", core::SettingType::Boolean, "yes", "",
                     "configure the package manager to use the packages of bundles"},
};

constexpr std::string_view file_prefix = "gpuhost-";

struct PackageManager {
    std::string_view directory; ///< contains its files; exists if the package manager is on the host
    std::string_view suffix;
    std::string (*text)(const BundleRecord&, const PackageTree&);
};
constexpr std::array managers{PackageManager{apt_sources, ".sources", apt_source},
                              PackageManager{dnf_repositories, ".repo", dnf_repository}};

std::string path_of(const PackageManager& manager, const std::string& bundle) {
    return std::string(manager.directory) + "/" + std::string(file_prefix) + bundle +
           std::string(manager.suffix);
}

std::string key_path(const BundleRecord& bundle, const PackageTree& tree) {
    return packages_directory(bundle.name, tree.distribution) + "/" + std::string(package_key);
}

/// Returns the first lines of a bundle's file: comments with generation and digest. They differ for each
/// generation, so the file changes and the package manager reads the indexes again.
std::string heading(const BundleRecord& bundle) {
    const std::string digest = content::is_sha256(bundle.manifest) ? ", sha256:" + bundle.manifest : "";
    return std::string(content::file_mark) + "# Packages of bundle " + bundle.name + ", generation " +
           std::to_string(bundle.generation) + digest + "\n";
}

std::string file_of(const PackageManager& manager, const BundleRecord& bundle,
                    const std::vector<std::string>& distributions) {
    std::string text;
    for (const PackageTree& tree : bundle.packages)
        if (fits_distribution(distributions, tree.distribution))
            text += manager.text(bundle, tree);
    return text.empty() ? text : heading(bundle) + text;
}

/// Adds to `to` the removal of files that gpuhost wrote and that are not in `wanted`.
void add_stale(const Root& root, const PackageManager& manager, const std::set<std::string>& wanted,
               std::vector<FileOperation>& to) {
    for (const std::string& name : root.list(manager.directory).value_or(std::vector<std::string>())) {
        const std::string path = std::string(manager.directory) + "/" + name;
        if (base::starts_with(name, file_prefix) && base::ends_with(name, manager.suffix) &&
            wanted.count(path) == 0 && content::is_ours(root, path))
            to.push_back({FileOperation::Type::Remove, path, {}});
    }
}

/// The signed bundles in the catalogue that have packages.
struct Signed {
    std::vector<BundleRecord> records;
    std::set<std::string> unreadable; ///< names of bundles with unreadable records, whose files stay
    bool all_known = true;            ///< false: the catalogue cannot be listed, so no file is removed
    std::vector<std::string> problems;
};

Signed signed_bundles(const Root& root, const std::string& without) {
    const Catalogue catalogue(root);
    Signed found;
    const auto names = catalogue.names();
    if (!names) {
        found.problems.push_back(names.error().message);
        found.all_known = false;
    }
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        if (name == without)
            continue;
        auto record = catalogue.record(name);
        if (!record) {
            found.problems.push_back(record.error().message);
            found.unreadable.insert(name);
        } else if (record->is_signed() && record->name == name && !record->packages.empty()) {
            found.records.push_back(*std::move(record));
        }
    }
    return found;
}

void observe_manager(const Root& root, const PackageManager& manager, const Signed& bundles, bool on,
                     Repositories& found) {
    const auto distributions = distributions_of(read_os_release(root));
    std::set<std::string> wanted;
    for (const BundleRecord& bundle : on ? bundles.records : std::vector<BundleRecord>()) {
        FileOperation file{FileOperation::Type::Write, path_of(manager, bundle.name),
                           file_of(manager, bundle, distributions)};
        if (file.content.empty())
            continue;
        wanted.insert(file.path);
        found.bundles.push_back(bundle.name);
        if (!content::is_ours(root, file.path))
            found.left.push_back(file.path + " is not gpuhost's: packages of bundle " + bundle.name +
                                 " are not found");
        else if (!content::is_done(root, file))
            found.wrong.push_back(std::move(file));
    }
    if (on)
        for (const std::string& name : bundles.unreadable)
            wanted.insert(path_of(manager, name));
    if (bundles.all_known || !on)
        add_stale(root, manager, wanted, found.wrong);
}

/// Encodes a path with the characters that dnf allows in a repository's ID: "/a+b" becomes ":a_2bb".
std::string id_of(const std::string& path) {
    std::string id;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '/')
            id += ':';
        else if (std::isalnum(byte) != 0 || c == '.' || c == '-')
            id += c;
        else
            id += "_" + base::to_hex({&byte, 1});
    }
    return id;
}

} // namespace

std::span<const core::SettingKey> repository_setting_keys() {
    return keys;
}

bool repositories_are_on(const core::Settings& settings) {
    return settings.boolean("Packages", "Manage");
}

std::string apt_source(const BundleRecord& bundle, const PackageTree& tree) {
    std::string text;
    for (const AptSuite& suite : tree.apt) {
        text += "\nTypes: deb\nURIs: file:" + packages_directory(bundle.name, tree.distribution) +
                "\nSuites: " + suite.name + "\n";
        if (!suite.components.empty())
            text += "Components: " + base::join(suite.components, " ") + "\n";
        text += tree.has_key ? "Signed-By: " + key_path(bundle, tree) + "\n"
                             : "# The bundle's signature covers each file.\nTrusted: yes\n";
        text += "# An imported index may be old, and the clock wrong. A bundle has generations instead.\n"
                "Check-Valid-Until: no\nCheck-Date: no\n";
    }
    return text;
}

std::string dnf_repository(const BundleRecord& bundle, const PackageTree& tree) {
    std::string text;
    for (const DnfRepository& repository : tree.dnf) {
        const std::string below = repository.directory.empty() ? "" : "/" + repository.directory;
        const std::string id =
            std::string(file_prefix) + bundle.name + "-" + tree.distribution + id_of(below);
        text += "\n[" + id + "]\nname=" + "Packages of bundle " + bundle.name + " for " + tree.distribution +
                "\nbaseurl=file://" + packages_directory(bundle.name, tree.distribution) + below +
                "\nmetadata_expire=1\nskip_if_unavailable=1\n";
        text += tree.has_key && repository.is_signed
                    ? "repo_gpgcheck=1\ngpgkey=file://" + key_path(bundle, tree) + "\n"
                    : "# The bundle's signature covers each file.\nrepo_gpgcheck=0\n";
        text += "# The index, which is verified, has the digest of each package.\ngpgcheck=0\n";
    }
    return text;
}

Repositories observe_repositories(const Root& root, bool on, const std::string& without) {
    const Signed bundles = signed_bundles(root, without);
    Repositories found;
    found.left = bundles.problems;
    for (const PackageManager& manager : managers)
        if (root.exists(manager.directory))
            observe_manager(root, manager, bundles, on, found);
    std::sort(found.bundles.begin(), found.bundles.end());
    found.bundles.erase(std::unique(found.bundles.begin(), found.bundles.end()), found.bundles.end());
    return found;
}

} // namespace gpuhost::images
