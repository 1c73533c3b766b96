// SPDX-License-Identifier: Apache-2.0
#include "images/create/artifact.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/bundle/oci.hpp"
#include "images/create/packages.hpp"
#include "images/store/link_tree.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

struct Architecture {
    std::string_view suffix; ///< end of a package's file name
    std::string_view platform;
};
constexpr std::array architectures{
    Architecture{"_amd64.deb", "linux/amd64"}, Architecture{".x86_64.rpm", "linux/amd64"},
    Architecture{"_arm64.deb", "linux/arm64"}, Architecture{".aarch64.rpm", "linux/arm64"}};
/// Architectures in the names of tar archives ("_amd64.tar.gz") and of NVIDIA's installer
/// ("NVIDIA-Linux-x86_64-550.163.01.run").
constexpr std::array archive_words{
    Architecture{"amd64", "linux/amd64"}, Architecture{"x86_64", "linux/amd64"},
    Architecture{"arm64", "linux/arm64"}, Architecture{"aarch64", "linux/arm64"}};

constexpr std::size_t most_layers = 10'000; ///< the most that parse_document() accepts

/// Owns the result of glob(3).
class Glob {
  public:
    explicit Glob(const std::string& pattern) : result_(::glob(pattern.c_str(), 0, nullptr, &found_)) {}
    Glob(const Glob&) = delete;
    Glob& operator=(const Glob&) = delete;
    ~Glob() { ::globfree(&found_); }
    [[nodiscard]] std::vector<std::string> paths() const {
        if (result_ != 0)
            return {};
        return {found_.gl_pathv, found_.gl_pathv + found_.gl_pathc};
    }

  private:
    glob_t found_{};
    int result_;
};

/// Returns the path of a directory with the characters escaped that are special in a pattern of glob(3).
std::string escaped(const std::string& directory) {
    std::string text;
    for (const char c : directory) {
        if (std::string_view("*?[]\\").find(c) != std::string_view::npos)
            text += '\\';
        text += c;
    }
    return text;
}

/// Returns the platforms in the names of these files; empty if no name states one.
std::vector<std::string> platforms_of(const std::vector<NewArtifact::File>& files) {
    std::set<std::string> platforms;
    for (const NewArtifact::File& file : files) {
        for (const Architecture& architecture : architectures)
            if (base::ends_with(file.name, architecture.suffix))
                platforms.emplace(architecture.platform);
        for (const Architecture& word : archive_words)
            if (file.name.find("_" + std::string(word.suffix) + ".tar") != std::string::npos ||
                (base::starts_with(file.name, "NVIDIA-Linux-" + std::string(word.suffix) + "-") &&
                 base::ends_with(file.name, ".run")))
                platforms.emplace(word.platform);
    }
    return {platforms.begin(), platforms.end()};
}

Json descriptor(std::string_view type, const std::string& hex, std::uint64_t size) {
    return {{"mediaType", type}, {"digest", "sha256:" + hex}, {"size", size}};
}

std::string document_of(const BundleArtifact& artifact, const std::vector<NewArtifact::File>& files) {
    Json layers = Json::array();
    for (const NewArtifact::File& file : files) {
        Json layer = descriptor("application/octet-stream", file.hex, file.size);
        layer["annotations"] = {{"org.opencontainers.image.title", file.name}};
        layers.push_back(std::move(layer));
    }
    return base::dump({{"schemaVersion", 2},
                       {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                       {"artifactType", artifact_type(artifact)},
                       {"config", descriptor("application/vnd.oci.empty.v1+json",
                                             content::sha256(empty_config), empty_config.size())},
                       {"layers", std::move(layers)},
                       {"annotations", {{"org.opencontainers.image.version", artifact.name}}}});
}

/// Reports whether one host can match both words of Member::hosts. Compares only their platforms: a host may
/// have several kernels and GPUs.
bool may_meet(const std::string& a, const std::string& b) {
    const std::string_view left = parse_host_word(a).value_or(HostWord()).platform;
    const std::string_view right = parse_host_word(b).value_or(HostWord()).platform;
    return left.empty() || right.empty() || HostFacts{std::string(left), {}}.is(right) ||
           HostFacts{std::string(right), {}}.is(left);
}

/// Returns the words of Member::hosts for a driver: one for each GPU in GPUs=, else one for any NVIDIA GPU. A
/// host with several of the GPUs matches several words, which has the same effect as one.
std::vector<std::string> driver_hosts(const ArtifactSource& source, std::string_view platform) {
    HostWord host{platform, source.kernel, {}, source.flavour, any_gpu};
    if (source.gpus.empty())
        return {host_word(host)};
    std::vector<std::string> words;
    for (const std::string& gpu : source.gpus) {
        host.gpu = gpu;
        words.push_back(host_word(host));
    }
    return words;
}

/// Returns the files that match the source's patterns: file name → path. Fails with InvalidArgument if two
/// files have the same name, because an artifact has no directories.
Result<std::map<std::string, std::string>> find_files(const ArtifactSource& source,
                                                      const std::string& directory) {
    std::map<std::string, std::string> files;
    for (const std::string& pattern : source.patterns) {
        const auto paths =
            Glob(pattern.front() == '/' ? pattern : escaped(directory) + "/" + pattern).paths();
        if (paths.empty())
            return base::fail(Errc::NotFound, "no file matches '" + pattern + "'");
        for (const std::string& path : paths) {
            const auto [known, added] = files.emplace(path.substr(path.rfind('/') + 1), path);
            if (!added && known->second != path)
                return base::fail(Errc::InvalidArgument,
                                  "'" + path + "' and '" + known->second + "' have the same name");
        }
    }
    if (files.empty())
        return base::fail(Errc::InvalidArgument, "names no files");
    return files;
}

Result<NewArtifact::File> read_file(const std::string& name, const std::string& found) {
    std::error_code error;
    // Resolves links, because Contents::open() opens this path later and follows no link.
    const std::filesystem::path path = std::filesystem::canonical(found, error);
    if (error)
        return base::fail_errno(found, error.value());
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) < 0)
        return base::fail_errno(path.native(), errno);
    if (!S_ISREG(st.st_mode))
        return base::fail(Errc::InvalidArgument, path.native() + ": is not a regular file");
    GPUHOST_TRY(digest, content::sha256_of_file(fd.get(), path.native()));
    return NewArtifact::File{name, digest.sha256, digest.size, path};
}

/// Makes the artifact of a driver or of the NVIDIA Container Toolkit. The toolkit is for all hosts of one
/// platform. On hosts without a GPU it has no effect.
Result<NewArtifact> make_driver_or_toolkit(const ArtifactSource& source, const std::string& directory) {
    NewArtifact made;
    GPUHOST_CHECK(add_files(made, source, directory));
    const bool toolkit = source.kind == toolkit_kind;
    const auto platforms =
        source.platform.empty() ? platforms_of(made.files) : std::vector<std::string>{source.platform};
    if (platforms.size() > 1 || (toolkit && platforms.empty()))
        return base::fail(Errc::InvalidArgument,
                          platforms.empty()
                              ? "the names of its files do not state a platform"
                              : "its packages are for several platforms: " + base::join(platforms, ", "),
                          std::string("Make a section for each: [") + (toolkit ? "Toolkit " : "Driver ") +
                              source.name + " linux/amd64].");
    made.hosts = toolkit ? platforms : driver_hosts(source, platforms.empty() ? "" : platforms.front());
    return made;
}

Result<NewArtifact> make_files(const ArtifactSource& source, const CollectOptions& options) {
    NewArtifact made;
    made.hosts =
        source.platform.empty() ? std::vector<std::string>() : std::vector<std::string>{source.platform};
    if (source.directory.empty()) {
        GPUHOST_CHECK(add_files(made, source, options.directory));
        return made;
    }
    const auto all = [](const std::filesystem::directory_entry&) { return false; };
    GPUHOST_CHECK(add_tree(made, std::filesystem::path(options.directory) / source.directory, all));
    if (made.files.empty())
        return base::fail(Errc::InvalidArgument, "'" + source.directory + "' has no files");
    return made;
}

tl::unexpected<base::Error> not_carried(const std::string& name) {
    return base::fail(Errc::InvalidArgument,
                      "'" + name + "': nested too deeply, or not a valid name in a bundle",
                      "Use names in UTF-8 without control characters.");
}

/// Reports whether a bundle can contain a file with this name: JSON requires UTF-8, and hosts accept only
/// names for which is_path_in_tree() is true.
bool can_be_carried(const std::string& name) {
    return is_path_in_tree(name) &&
           base::parse_json(base::dump(Json(name)), name).value_or(Json()) == Json(name);
}

} // namespace

bool is_for_same_host(const NewArtifact& a, const NewArtifact& b) {
    const bool same = a.artifact.kind == b.artifact.kind && a.artifact.name == b.artifact.name &&
                      a.artifact.kernel == b.artifact.kernel &&
                      (a.artifact.flavour == b.artifact.flavour || a.artifact.flavour.empty() ||
                       b.artifact.flavour.empty());
    return same && (a.hosts.empty() || b.hosts.empty() ||
                    std::find_first_of(a.hosts.begin(), a.hosts.end(), b.hosts.begin(), b.hosts.end(),
                                       may_meet) != a.hosts.end());
}

Result<void> add_files(NewArtifact& made, const ArtifactSource& source, const std::string& directory) {
    GPUHOST_TRY(found, find_files(source, directory));
    for (const auto& [name, path] : found) {
        GPUHOST_TRY(file, read_file(name, path));
        made.files.push_back(std::move(file));
    }
    return {};
}

Result<void> add_tree(NewArtifact& made, const std::string& directory,
                      const std::function<bool(const std::filesystem::directory_entry&)>& leave) {
    using Tree = std::filesystem::recursive_directory_iterator;
    std::error_code error;
    auto entry = Tree(directory, std::filesystem::directory_options::follow_directory_symlink, error);
    for (; !error && entry != Tree(); entry.increment(error)) {
        const std::string name = entry->path().lexically_relative(directory).string();
        if (!is_path_in_tree(name)) // also ends the recursion through a link to a parent directory
            return not_carried(name);
        std::error_code unknown; // ignored here: read_file() reports a broken link
        if (entry->is_directory(unknown)) {
            if (leave(*entry))
                entry.disable_recursion_pending();
            continue;
        }
        GPUHOST_TRY(file, read_file(name, entry->path().string()));
        made.files.push_back(std::move(file));
    }
    std::sort(made.files.begin(), made.files.end(),
              [](const NewArtifact::File& a, const NewArtifact::File& b) { return a.name < b.name; });
    return error ? base::fail_errno(directory, error.value()) : Result<void>();
}

Result<NewArtifact> make_artifact(const ArtifactSource& source, const CollectOptions& options) {
    GPUHOST_TRY(made, source.kind == packages_kind ? make_packages(source, options)
                      : source.kind == files_kind  ? make_files(source, options)
                                                   : make_driver_or_toolkit(source, options.directory));
    for (const NewArtifact::File& file : made.files)
        if (!can_be_carried(file.name))
            return not_carried(file.name);
    made.artifact = {source.kind, source.name, source.kernel, {}, 0, source.flavour};
    made.document = document_of(made.artifact, made.files);
    made.artifact.hex = content::sha256(made.document);
    made.artifact.size = made.document.size();
    if (made.files.size() > most_layers || made.document.size() > document_limit)
        return base::fail(Errc::InvalidArgument,
                          "has " + std::to_string(made.files.size()) + " files, too many for one section",
                          "Split the section: it may have 10,000 files, whose names fit into 4 MiB.");
    return std::move(made);
}

} // namespace gpuhost::images
