// SPDX-License-Identifier: Apache-2.0
#include "images/host/docker.hpp"

#include "daemon/base/json.hpp"
#include "images/host/mirrors.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t images_at_once = 200;
/// Repetitions of describe_all(), which fails if an image is deleted meanwhile.
constexpr unsigned more_tries = 2;
constexpr const char* format = R"({"tags":{{json .RepoTags}},"digests":{{json .RepoDigests}}})";

/// An image in the runtime.
struct Present {
    std::vector<std::string> names; ///< full names by tag and by digest
    std::vector<std::string> digests;

    [[nodiscard]] bool fits(const WantedImage& wanted) const {
        return std::find(names.begin(), names.end(), wanted.name) != names.end() &&
               (wanted.any || std::find(digests.begin(), digests.end(), wanted.digest) != digests.end());
    }
};

/// Parses a line of describe_all(). Returns an object without names for other lines, such as warnings.
Present present_of(std::string_view line) {
    Present present;
    const Json image = base::parse_json(line, "an image").value_or(Json());
    for (const char* key : {"tags", "digests"})
        for (const std::string& text : base::strings_or_empty(image, key))
            if (const auto reference = parse_reference(text)) {
                present.names.push_back(reference->text());
                if (!reference->digest.empty())
                    present.digests.push_back(reference->digest);
            }
    return present;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!line.empty())
            lines.push_back(line);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return lines;
}

/// Returns the image IDs in the client's output, each once. Skips other lines, such as warnings.
std::vector<std::string> ids_of(std::string_view output) {
    std::set<std::string> ids;
    for (const std::string_view line : lines_of(output))
        if (!digest_hex(line).empty())
            ids.emplace(line);
    return {ids.begin(), ids.end()};
}

std::vector<Present> presents_of(std::string_view output) {
    std::vector<Present> all;
    for (const std::string_view line : lines_of(output))
        all.push_back(present_of(line));
    return all;
}

/// Adds a hint to the error of a pull if Docker used HTTPS for this host's registry, which serves HTTP.
/// Docker uses HTTP for registries on loopback, but from 29.10 on only if "insecure-registries" is not set.
base::Error explained(base::Error error, const PullSource& from) {
    if (error.message.find("HTTP response to HTTPS client") != std::string::npos)
        error.message +=
            ": add \"" + from.address +
            "\" to insecure-registries in /etc/docker/daemon.json, and run 'systemctl reload docker'";
    return error;
}

} // namespace

Result<std::string> Docker::ask(std::vector<std::string> words) const {
    std::vector<std::string> argv{client_};
    argv.insert(argv.end(), options_.begin(), options_.end());
    argv.push_back("unix://" + socket());
    const bool is_pull = words.front() == "pull";
    argv.insert(argv.end(), words.begin(), words.end());
    return ask_client(socket(), std::move(argv), is_pull);
}

Result<void> Docker::run_client(std::vector<std::string> words) const {
    const auto done = ask(std::move(words));
    return done ? Result<void>() : base::fail(done.error());
}

Result<Reference> Docker::taggable(const WantedImage& image) {
    GPUHOST_TRY(reference, parse_reference(image.name));
    if (!reference.digest.empty() || !is_repository(registry_path(reference.registry)))
        return base::fail(Errc::Unsupported, "this runtime does not support the name",
                          "Use a name with a tag, and with a registry in lower case.");
    return std::move(reference);
}

std::string Docker::path_in(const PullSource& source, const Reference& reference) {
    return source.address + "/" + registry_path(reference.registry) + "/" + reference.repository;
}

Result<std::string> Docker::describe_all() const {
    GPUHOST_TRY(listed, ask({"image", "ls", "--quiet", "--no-trunc"}));
    const std::vector<std::string> images = ids_of(listed);
    std::string all;
    for (std::size_t at = 0; at < images.size(); at += images_at_once) {
        std::vector<std::string> words{"image", "inspect", "--format", format};
        const std::size_t end = std::min(images.size(), at + images_at_once);
        words.insert(words.end(), images.begin() + static_cast<std::ptrdiff_t>(at),
                     images.begin() + static_cast<std::ptrdiff_t>(end));
        GPUHOST_TRY(output, ask(std::move(words)));
        all += output + "\n";
    }
    return all;
}

Result<std::set<std::string>> Docker::ready(const std::vector<WantedImage>& wanted) const {
    if (wanted.empty())
        return std::set<std::string>();
    auto output = describe_all();
    for (unsigned i = 0; !output && output.error().code == Errc::Failed && i < more_tries; ++i)
        output = describe_all();
    if (!output)
        return base::fail(output.error());
    std::set<std::string> names;
    for (const Present& present : presents_of(*output))
        for (const WantedImage& image : wanted)
            if (present.fits(image))
                names.insert(image.name);
    return names;
}

Result<void> Docker::pull(const WantedImage& image, const PullSource& from) const {
    GPUHOST_TRY(reference, taggable(image));
    const std::string here = path_in(from, reference) + "@" + image.digest;
    if (const auto pulled = run_client({"pull", "--quiet", here}); !pulled)
        return base::fail(explained(pulled.error(), from));
    return run_client({"tag", here, image.name});
}

} // namespace gpuhost::images
