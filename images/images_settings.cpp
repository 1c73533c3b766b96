// SPDX-License-Identifier: Apache-2.0
#include "images/images_settings.hpp"

#include "daemon/base/parse.hpp"
#include "images/bundle/manifest.hpp"

#include <array>

namespace gpuhost::images {
namespace {

/// Adds the generation in "NAME:GENERATION" to `least`. Returns false if the word has another form.
bool add_generation(const std::string& word, LeastGenerations& least) {
    const std::size_t colon = std::min(word.find(':'), word.size() - 1);
    const auto generation = base::parse_uint(word.substr(colon + 1));
    if (!generation || !is_bundle_name(word.substr(0, colon)))
        return false;
    least[word.substr(0, colon)] = *generation;
    return true;
}

std::string generation_mistake(std::string_view value) {
    LeastGenerations least;
    for (const std::string& word : base::split_words(value))
        if (!add_generation(word, least))
            return "'" + word + "' is not of the form NAME:GENERATION";
    return "";
}

constexpr std::array keys{
    core::SettingKey{"Images", "Manage", core::SettingType::Boolean, "yes", "",
                     "place pinned images in container runtimes and keep them there"},
    core::SettingKey{"Images", "AllowUnsigned", core::SettingType::Boolean, "no", "",
                     "allow bundle import --unsigned"},
    core::SettingKey{"Images", "MinimumGeneration", core::SettingType::Words, "", "",
                     "oldest generation of bundles to import, as NAME:GENERATION", "", generation_mistake},
    core::SettingKey{"Images", "Pin", core::SettingType::Words, "", "",
                     "images that container runtimes pull ahead of need and keep"},
    core::SettingKey{"Images", "Containerd", core::SettingType::Words,
                     "/run/containerd/containerd.sock /run/k3s/containerd/containerd.sock", "",
                     "sockets of containerd, as SOCKET or SOCKET=CTR; empty: none"},
    core::SettingKey{"Images", "Docker", core::SettingType::Words, "/run/docker.sock", "",
                     "sockets of Docker; empty: none"},
    core::SettingKey{"Images", "Podman", core::SettingType::Words, "auto", "",
                     "sockets of Podman; auto: its default socket if CRI-O runs; empty: none"},
};

} // namespace

std::span<const core::SettingKey> images_setting_keys() {
    return keys;
}

bool images_managed(const core::Settings& settings) {
    return settings.boolean("Images", "Manage");
}

bool unsigned_is_allowed(const core::Settings& settings) {
    return settings.boolean("Images", "AllowUnsigned");
}

base::Result<LeastGenerations> least_generations(const core::Settings& settings) {
    LeastGenerations least;
    for (const std::string& word : settings.words("Images", "MinimumGeneration"))
        if (!add_generation(word, least))
            return base::fail(
                base::Errc::InvalidArgument,
                "'" + word + "' in MinimumGeneration= is not of the form NAME:GENERATION",
                "Correct section [Images] of gpuhostd.conf(5). Until then no bundle is imported.");
    return least;
}

base::Result<LeastGenerations> least_generations(const base::Root& root) {
    return least_generations(core::load_settings(root, {images_setting_keys()}).settings);
}

ImageRuntimeSettings runtime_settings(const core::Settings& settings) {
    return {settings.words("Images", "Containerd"), settings.words("Images", "Docker"),
            settings.words("Images", "Podman")};
}

} // namespace gpuhost::images
