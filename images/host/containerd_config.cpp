// SPDX-License-Identifier: Apache-2.0
#include "images/host/containerd_config.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/registry_hosts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

namespace gpuhost::images {

using base::Errc;
using base::Root;
using core::containerd_certs;

namespace {

constexpr std::string_view configuration = "/etc/containerd/config.toml";
constexpr std::string_view drop_ins = "/etc/containerd/conf.d";
/// The CRI's table of registries in containerd 2.0 and later, in 1.3 to 1.7, and in older versions.
constexpr std::string_view cri_2 = "plugins.io.containerd.cri.v1.images.registry.";
constexpr std::string_view cri_1 = "plugins.io.containerd.grpc.v1.cri.registry.";
constexpr std::string_view cri_0 = "plugins.cri.registry.";
/// If this setting is true, the CRI itself pulls, and splits config_path. Otherwise the transfer service
/// pulls, and uses config_path as the name of one directory.
constexpr std::string_view local_pull = "plugins.io.containerd.cri.v1.images.use_local_image_pull";

struct ContainerdFacts {
    std::uint64_t version = 0; ///< "version" in config.toml
    std::string path;          ///< config_path
    bool local_pull = false;   ///< use_local_image_pull: a list in config_path is split
    /// True if registry.mirrors is set. config_path is invalid beside it.
    bool mirrors = false;
    bool cri_is_off = false;
    bool imports = false;        ///< imports files outside of drop_ins, which are not read here
    bool drop_ins = false;       ///< imports all files in drop_ins
    std::set<std::string> named; ///< names of files in drop_ins that it imports one by one
};

/// Returns a TOML name without quotes and brackets: [plugins."io.containerd.grpc.v1.cri".registry] becomes
/// plugins.io.containerd.grpc.v1.cri.registry.
std::string plain(std::string_view name) {
    std::string text;
    std::copy_if(name.begin(), name.end(), std::back_inserter(text),
                 [](char c) { return std::string_view("[]\"' \t").find(c) == std::string_view::npos; });
    return text;
}

std::string_view quote(std::string_view value) {
    const std::size_t begin = value.find_first_of("\"'");
    const std::size_t end = begin == std::string_view::npos ? begin : value.find(value[begin], begin + 1);
    return end == std::string_view::npos ? std::string_view() : value.substr(begin + 1, end - begin - 1);
}

bool has(std::string_view text, std::string_view what) {
    return text.find(what) != std::string_view::npos;
}

/// Finds settings in a file line by line, one on each line. Does not parse TOML: settings in other forms are
/// not found.
class Scan {
  public:
    explicit Scan(ContainerdFacts& facts) : facts_(&facts) {}

    [[nodiscard]] std::uint64_t version() const { return version_; }

    void line(std::string_view text) {
        text = base::trim(text);
        if (text.empty() || text.front() == '#')
            return;
        if (text.front() == '[' && key_ != "imports" && key_ != "disabled_plugins") {
            table_ = plain(text.substr(0, text.find('#'))) + ".";
            key_.clear();
            setting(table_, {});
            return;
        }
        if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
            key_ = table_ + plain(text.substr(0, equals));
            text = text.substr(equals + 1);
        }
        setting(key_, text);
        if (has(text, "]"))
            key_.clear(); // the end of a list, which may have several lines
    }

  private:
    void setting(const std::string& key, std::string_view value) {
        if (key == "version")
            version_ = base::parse_uint(base::trim(value.substr(0, value.find('#')))).value_or(0);
        else if (key == local_pull)
            facts_->local_pull = base::starts_with(base::trim(value), "true");
        else if (key == "disabled_plugins")
            facts_->cri_is_off = facts_->cri_is_off || has(value, "io.containerd.grpc.v1.cri") ||
                                 has(value, "\"cri\"") || has(value, "'cri'");
        else if (key == "imports")
            import(value);
        for (const std::string_view registry : {cri_2, cri_1, cri_0})
            if (base::starts_with(key, registry) && (registry == cri_2 || version_ < 3))
                of_registries(std::string_view(key).substr(registry.size()), value);
    }
    void import(std::string_view value) {
        value = value.substr(0, value.find('#'));
        for (std::string_view path = quote(value); !path.empty(); path = quote(value)) {
            value.remove_prefix(static_cast<std::size_t>(path.data() + path.size() + 1 - value.data()));
            const std::string_view directory = path.substr(0, path.rfind('/'));
            const std::string_view name = path.substr(path.rfind('/') + 1);
            // A relative path begins at the directory of config.toml.
            if (directory != drop_ins && directory != "conf.d")
                facts_->imports = true;
            else if (has(name, "*"))
                facts_->drop_ins = true;
            else
                facts_->named.emplace(name);
        }
    }
    void of_registries(std::string_view key, std::string_view value) {
        if (key == "config_path")
            facts_->path = quote(value);
        constexpr std::string_view mirrors =
            // A table without entries is ignored: old versions of "containerd config default" print it.
            "mirrors.";
        facts_->mirrors = facts_->mirrors || (base::starts_with(key, mirrors) && key != mirrors);
    }

    ContainerdFacts* facts_;
    std::uint64_t version_ = 0;
    std::string table_;
    std::string key_;
};

/// Reads config.toml and the drop-ins that it imports; with `with_all_drop_ins`, all drop-ins. Returns
/// nothing if a file exists and cannot be read.
std::optional<ContainerdFacts> read_configuration(const Root& root, bool with_all_drop_ins) {
    ContainerdFacts facts;
    const auto read = [&](const std::string& file) {
        const auto text = root.read(file);
        if (!text && text.error().code != Errc::NotFound)
            return false;
        Scan scan(facts);
        for (const std::string_view line : base::split(text.value_or(""), '\n'))
            scan.line(line);
        if (file == configuration)
            facts.version = scan.version();
        return true;
    };
    if (!read(std::string(configuration)))
        return std::nullopt;
    for (const std::string& name : root.list(drop_ins).value_or(std::vector<std::string>()))
        if (base::ends_with(name, ".toml") &&
            (with_all_drop_ins || facts.drop_ins || facts.named.count(name) != 0) &&
            !read(std::string(drop_ins) + "/" + name))
            return std::nullopt;
    return facts;
}

std::string_view without_slashes(std::string_view path) {
    return path.substr(0, path.find_last_not_of('/') + 1);
}

bool has_certs(const std::string& config_path) {
    const auto paths = base::split(config_path, ':');
    return std::any_of(paths.begin(), paths.end(),
                       [](std::string_view path) { return without_slashes(path) == containerd_certs; });
}

bool is_right(const ContainerdFacts& facts) {
    return facts.cri_is_off || without_slashes(facts.path) == containerd_certs ||
           (facts.local_pull && has_certs(facts.path));
}

/// Returns the line to write in config.toml. The table name in it depends on the "version" of config.toml.
std::string right_setting(const ContainerdFacts& facts) {
    const std::string_view table =
        facts.version >= 3 ? "io.containerd.cri.v1.images" : "io.containerd.grpc.v1.cri";
    return "config_path = \"" + std::string(containerd_certs) + "\" in [plugins.\"" + std::string(table) +
           "\".registry]";
}

} // namespace

std::string certs_problem(const Root& root) {
    const std::string file(configuration);
    const std::string lost = ": pods do not get this host's images";
    const auto facts = read_configuration(root, false);
    const auto possible = read_configuration(root, true);
    if (!facts || !possible)
        return file + " can't be read: pods get this host's images only if it sets " +
               right_setting(ContainerdFacts());
    if (is_right(*facts))
        return {};
    const std::string set = "set " + right_setting(*facts) + (facts->version == 0 ? " and version = 2" : "");
    const std::string by_hand = lost + "; " + set + ", and restart containerd";
    if (is_right(*possible))
        return file + " does not import " + std::string(drop_ins) + ", which sets config_path" + lost +
               "; set imports = [\"" + std::string(drop_ins) + "/*.toml\"] in it, and restart containerd";
    if (facts->mirrors)
        return file + " has registry.mirrors" + lost + "; replace them: " + set + ", and restart containerd";
    if (!facts->path.empty() && !has_certs(facts->path))
        return file + " sets config_path to " + facts->path + by_hand;
    const std::string next = "; run 'gpuhostctl runtime configure', or " + set + ", and restart containerd";
    if (!facts->path.empty())
        return file +
               " sets config_path to a list: containerd 2.1 and later does not split it, and its pods do "
               "not get this host's images" +
               next;
    return file + " does not set config_path" +
           (facts->imports ? " (files that it imports are not read)" : "") + lost + next;
}

std::vector<std::string> other_registry_roots(const Root& root) {
    const auto facts = read_configuration(root, false);
    std::vector<std::string> roots;
    for (const std::string_view path : base::split(facts ? facts->path : std::string(), ':'))
        if (const std::string_view plain = without_slashes(path); !plain.empty() && plain != containerd_certs)
            roots.emplace_back(plain);
    return roots;
}

} // namespace gpuhost::images
