// SPDX-License-Identifier: Apache-2.0
#include "images/containerd_config.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <vector>

namespace gpuhost::images {

using base::Errc;
using base::Root;

namespace {

constexpr std::string_view configuration = "/etc/containerd/config.toml";
constexpr std::string_view drop_ins = "/etc/containerd/conf.d";
/// Where the CRI's registries stand: since containerd 2.0, since 1.3, before.
constexpr std::string_view cri_2 = "plugins.io.containerd.cri.v1.images.registry.";
constexpr std::string_view cri_1 = "plugins.io.containerd.grpc.v1.cri.registry.";
constexpr std::string_view cri_0 = "plugins.cri.registry.";

struct Said {
    std::string path;     ///< config_path
    bool mirrors = false; ///< registry.mirrors, beside which there may be no config_path
    bool cri_is_off = false;
    bool imports = false;  ///< of files that are not looked at
    bool drop_ins = false; ///< of those that are
};

/// [plugins."io.containerd.grpc.v1.cri".registry] as plugins.io.containerd.grpc.v1.cri.registry, however it is quoted.
std::string plain(std::string_view name) {
    std::string text;
    std::copy_if(name.begin(), name.end(), std::back_inserter(text),
                 [](char c) { return std::string_view("[]\"' \t").find(c) == std::string_view::npos; });
    return text;
}

std::string_view quoted(std::string_view value) {
    const std::size_t begin = value.find_first_of("\"'");
    const std::size_t end = begin == std::string_view::npos ? begin : value.find(value[begin], begin + 1);
    return end == std::string_view::npos ? std::string_view() : value.substr(begin + 1, end - begin - 1);
}

bool has(std::string_view text, std::string_view what) {
    return text.find(what) != std::string_view::npos;
}

/// Its lines, one setting each: another's file, which is not parsed here. What is written in some other way is not found.
class Scan {
  public:
    explicit Scan(Said& said) : said_(&said) {}

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
            key_.clear(); // the end of a list over several lines
    }

  private:
    void setting(const std::string& key, std::string_view value) {
        if (key == "version")
            version_ = base::parse_uint(base::trim(value)).value_or(0);
        else if (key == "disabled_plugins")
            said_->cri_is_off = said_->cri_is_off || has(value, "io.containerd.grpc.v1.cri") ||
                                has(value, "\"cri\"") || has(value, "'cri'");
        else if (key == "imports")
            import(value);
        for (const std::string_view registry : {cri_2, cri_1, cri_0})
            if (base::starts_with(key, registry) && (registry == cri_2 || version_ < 3))
                of_registries(std::string_view(key).substr(registry.size()), value);
    }
    void import(std::string_view value) {
        value = value.substr(0, value.find('#'));
        const bool ours = has(value, std::string(drop_ins) + "/*");
        said_->drop_ins = said_->drop_ins || ours;
        said_->imports = said_->imports || (!quoted(value).empty() && !ours);
    }
    void of_registries(std::string_view key, std::string_view value) {
        if (key == "config_path")
            said_->path = quoted(value);
        constexpr std::string_view mirrors =
            "mirrors."; // "containerd config default" of old has the table, without any
        said_->mirrors = said_->mirrors || (base::starts_with(key, mirrors) && key != mirrors);
    }

    Said* said_;
    std::uint64_t version_ = 0;
    std::string table_;
    std::string key_;
};

/// Nothing where a file can't be read.
std::optional<Said> read_configuration(const Root& root, bool with_drop_ins) {
    std::vector<std::string> files{std::string(configuration)};
    for (const std::string& name : root.list(drop_ins).value_or(std::vector<std::string>()))
        if (with_drop_ins && base::ends_with(name, ".toml"))
            files.push_back(std::string(drop_ins) + "/" + name);
    Said said;
    for (const std::string& file : files) {
        const auto text = root.read(file);
        if (!text && text.error().code != Errc::NotFound)
            return std::nullopt;
        Scan scan(said);
        for (const std::string_view line : base::split(text.value_or(""), '\n'))
            scan.line(line);
    }
    return said;
}

bool leads_to_certs(const std::string& config_path) {
    const auto paths = base::split(config_path, ':');
    return std::any_of(paths.begin(), paths.end(), [](std::string_view path) {
        return path.substr(0, path.find_last_not_of('/') + 1) == containerd_certs;
    });
}

bool is_right(const Said& said) {
    return said.cri_is_off || leads_to_certs(said.path);
}

} // namespace

std::string certs_problem(const Root& root) {
    const std::string file(configuration);
    const std::string setting = "config_path = \"" + std::string(containerd_certs) + "\"";
    const std::string lost = "pods do not get this host's images from ";
    const std::string next = " in its table of the CRI's registries, and restart containerd";
    const auto alone = read_configuration(root, false);
    const auto said = read_configuration(root, true);
    if (!alone || !said)
        return file + " can't be read: see that it says " + setting + ", else " + lost + "containerd";
    if (is_right(*said) && (is_right(*alone) || alone->drop_ins))
        return {};
    if (is_right(*said))
        return file + " does not import " + std::string(drop_ins) + ", where " + setting +
               " is said, and so " + lost + "a containerd before 2.2: set imports = [\"" +
               std::string(drop_ins) + "/*.toml\"] in it, and restart containerd";
    if (!said->path.empty())
        return file + " leads containerd to " + said->path + ", so " + lost + "it: set " + setting + next;
    if (said->mirrors)
        return file + " has registry.mirrors, so " + lost + "containerd: replace them by " + setting + next;
    return file + " does not say " + setting + (said->imports ? " (what it imports is not looked at)" : "") +
           ", without which " + lost + "a containerd before 2.2: set it" + next;
}

} // namespace gpuhost::images
