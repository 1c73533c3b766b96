// SPDX-License-Identifier: Apache-2.0
#include "images/store/packages.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/distribution.hpp"
#include "images/store/link_tree.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view suites = "dists/";
constexpr std::string_view index_name = "Packages";
/// Suffixes of the compressions that apt supports.
constexpr std::array<std::string_view, 7> index_endings{"", ".gz", ".xz", ".bz2", ".lzma", ".lz4", ".zst"};
constexpr std::string_view repomd = "repodata/repomd.xml";

/// Accepts text that needs no quoting in apt's or dnf's configuration.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._-+~/").find(c) != std::string_view::npos;
    });
}

bool is_plain_path(const std::string& text) {
    return is_plain(text) && is_path_in_tree(text);
}

/// Reports whether a suite is a directory of a flat repository, as in sources.list(5): "./", "tools/".
bool is_flat(const std::string& suite) {
    return suite == "./" || (base::ends_with(suite, "/") && is_plain_path(suite.substr(0, suite.size() - 1)));
}

class Names {
  public:
    explicit Names(const std::vector<std::string>& names) : names_(names) {}
    [[nodiscard]] bool has(const std::string& name) const {
        return std::binary_search(names_.begin(), names_.end(), name);
    }
    /// `directory` ends in a slash or is empty.
    [[nodiscard]] bool has_release(const std::string& directory) const {
        return has(directory + "InRelease") || has(directory + "Release");
    }
    [[nodiscard]] bool is_signed(const std::string& directory) const {
        return has(directory + "InRelease") || has(directory + "Release.gpg");
    }

  private:
    const std::vector<std::string>& names_;
};

/// Reports whether this is the path of an index of packages: "main/binary-amd64/Packages.xz".
bool is_index(std::string_view name) {
    const std::string_view file = name.substr(name.rfind('/') + 1);
    return base::starts_with(file, index_name) &&
           std::find(index_endings.begin(), index_endings.end(), file.substr(index_name.size())) !=
               index_endings.end();
}

using Suites = std::map<std::string, AptSuite>;

/// Adds the suite and the component of a directory that has an index. For
/// "dists/bookworm/main/binary-amd64/", these are "bookworm" and "main". The suite is the first directory
/// with a Release file. Suite and component may consist of several directories.
void add_suite(Suites& found, const Names& names, const std::string& directory) {
    const auto binary = directory.rfind("/binary-");
    if (binary == std::string::npos || directory.find('/', binary + 1) != directory.size() - 1)
        return;
    const std::string place = directory.substr(0, binary);
    for (auto slash = place.find('/', suites.size()); slash != std::string::npos;
         slash = place.find('/', slash + 1)) {
        const std::string release = place.substr(0, slash + 1);
        if (!names.has_release(release))
            continue;
        const std::string suite = place.substr(suites.size(), slash - suites.size());
        const std::string component = place.substr(slash + 1);
        if (!is_plain(suite) || !is_plain(component) || base::ends_with(component, "/debian-installer"))
            return;
        auto& components =
            found.try_emplace(suite, AptSuite{suite, {}, names.is_signed(release)}).first->second.components;
        if (std::find(components.begin(), components.end(), component) == components.end())
            components.push_back(component);
        return;
    }
}

void add_index(Suites& found, const Names& names, const std::string& name) {
    const std::string directory = name.substr(0, name.rfind('/') + 1);
    if (base::starts_with(directory, suites))
        return add_suite(found, names, directory);
    const std::string suite = directory.empty() ? "./" : directory;
    if (is_flat(suite))
        found.try_emplace(suite, AptSuite{suite, {}, names.is_signed(directory)});
}

Result<AptSuite> suite_from_json(const Json& value) {
    AptSuite suite{base::string_or(value, "suite", ""), base::strings_or_empty(value, "components"),
                   base::bool_or(value, "signed", false)};
    const bool good = suite.components.empty()
                          ? is_flat(suite.name)
                          : is_plain_path(suite.name) &&
                                std::all_of(suite.components.begin(), suite.components.end(), is_plain_path);
    if (!good)
        return base::fail(Errc::BadContent, "'" + suite.name + "' is not a suite of packages");
    return suite;
}

Result<DnfRepository> dnf_from_json(const Json& value) {
    DnfRepository repository{base::string_or(value, "directory", ""), base::bool_or(value, "signed", false)};
    if (!repository.directory.empty() && !is_plain_path(repository.directory))
        return base::fail(Errc::BadContent, "'" + repository.directory + "' is not a directory of packages");
    return repository;
}

} // namespace

std::string DnfRepository::index() const {
    return directory + (directory.empty() ? "" : "/") + std::string(repomd);
}

std::string PackageTree::first_unsigned() const {
    for (const AptSuite& suite : apt)
        if (!suite.is_signed)
            return "suite " + suite.name;
    for (const DnfRepository& repository : dnf)
        if (!repository.is_signed)
            return repository.index();
    return {};
}

std::vector<IndexSignature> PackageTree::signatures(const std::vector<std::string>& names) const {
    const Names all(names);
    std::vector<IndexSignature> found;
    for (const AptSuite& suite : apt) {
        const std::string flat = suite.name == "./" ? "" : suite.name;
        const std::string directory =
            suite.components.empty() ? flat : std::string(suites) + suite.name + "/";
        if (all.has(directory + "InRelease")) // apt reads Release.gpg only if there is no InRelease
            found.push_back({directory + "InRelease", ""});
        else if (suite.is_signed)
            found.push_back({directory + "Release.gpg", directory + "Release"});
    }
    for (const DnfRepository& repository : dnf)
        if (repository.is_signed)
            found.push_back({repository.index() + ".asc", repository.index()});
    return found;
}

PackageTree package_tree(std::string distribution, const std::vector<std::string>& names) {
    const Names all(names);
    PackageTree tree;
    tree.distribution = std::move(distribution);
    tree.files = names.size();
    tree.has_key = all.has(std::string(package_key));
    Suites found;
    for (const std::string& name : names) {
        if (is_index(name))
            add_index(found, all, name);
        const bool whole = name == repomd;
        if (!whole && !base::ends_with(name, "/" + std::string(repomd)))
            continue;
        const std::string directory = whole ? "" : name.substr(0, name.size() - repomd.size() - 1);
        if (is_plain(directory))
            tree.dnf.push_back({directory, all.has(name + ".asc")});
    }
    for (auto& [name, suite] : found)
        tree.apt.push_back(std::move(suite));
    return tree;
}

Json to_json(const PackageTree& tree) {
    Json apt = Json::array();
    for (const AptSuite& suite : tree.apt)
        apt.push_back({{"suite", suite.name}, {"components", suite.components}, {"signed", suite.is_signed}});
    Json dnf = Json::array();
    for (const DnfRepository& repository : tree.dnf)
        dnf.push_back({{"directory", repository.directory}, {"signed", repository.is_signed}});
    return {{"distribution", tree.distribution},
            {"files", tree.files},
            {"key", tree.has_key},
            {"apt", std::move(apt)},
            {"dnf", std::move(dnf)}};
}

Result<PackageTree> package_tree_from_json(const Json& value) {
    PackageTree tree;
    tree.distribution = base::string_or(value, "distribution", "");
    tree.files = static_cast<std::uint64_t>(base::int_or(value, "files", 0));
    tree.has_key = base::bool_or(value, "key", false);
    if (!is_distribution(tree.distribution))
        return base::fail(Errc::BadContent, "'" + tree.distribution + "' is not a distribution");
    for (const Json& one : base::member(value, "apt")) {
        GPUHOST_TRY(suite, suite_from_json(one));
        tree.apt.push_back(std::move(suite));
    }
    for (const Json& one : base::member(value, "dnf")) {
        GPUHOST_TRY(repository, dnf_from_json(one));
        tree.dnf.push_back(std::move(repository));
    }
    return tree;
}

} // namespace gpuhost::images
