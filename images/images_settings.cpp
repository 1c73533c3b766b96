// SPDX-License-Identifier: Apache-2.0
#include "images/images_settings.hpp"

#include "daemon/base/parse.hpp"
#include "images/bundle/manifest.hpp"

#include <array>

namespace gpuhost::images {
namespace {

constexpr std::array keys{
    core::SettingKey{"Images", "AllowUnsigned", core::SettingType::Boolean, "no", "",
                     "whether images that nobody signed may be imported"},
    core::SettingKey{"Images", "MinimumGeneration", core::SettingType::Words, "", "",
                     "bundles that come in from that generation on: NAME:GENERATION"},
    core::SettingKey{"Images", "Pin", core::SettingType::Words, "", "",
                     "images that the container runtimes are to have and keep"},
    core::SettingKey{"Images", "Containerd", core::SettingType::Words,
                     "/run/containerd/containerd.sock /run/k3s/containerd/containerd.sock", "",
                     "where containerds of this host listen"},
    core::SettingKey{"Images", "Docker", core::SettingType::Words, "/run/docker.sock", "",
                     "where Docker listens"},
    core::SettingKey{"Images", "Podman", core::SettingType::Words, "", "",
                     "where Podman listens, if images are to be placed in its storage, which is CRI-O's too"},
};

} // namespace

std::span<const core::SettingKey> images_setting_keys() {
    return keys;
}

bool unsigned_is_allowed(const core::Settings& settings) {
    return settings.boolean("Images", "AllowUnsigned");
}

base::Result<LeastGenerations> least_generations(const core::Settings& settings) {
    LeastGenerations least;
    for (const std::string& word : settings.words("Images", "MinimumGeneration")) {
        const std::size_t colon = std::min(word.find(':'), word.size() - 1);
        const auto generation = base::parse_uint(word.substr(colon + 1));
        if (!generation || !is_bundle_name(word.substr(0, colon)))
            return base::fail(base::Errc::InvalidArgument,
                              "'" + word + "' in MinimumGeneration= is no NAME:GENERATION of a bundle",
                              "Mend section [Images] of gpuhostd.conf(5): nothing comes in before.");
        least[word.substr(0, colon)] = *generation;
    }
    return least;
}

base::Result<LeastGenerations> least_generations(const base::Root& root) {
    return least_generations(core::load_settings(root, {images_setting_keys()}).settings);
}

std::vector<std::string> pinned_patterns(const core::Settings& settings) {
    return settings.words("Images", "Pin");
}

ImageRuntimeSettings runtime_settings(const core::Settings& settings) {
    return {settings.words("Images", "Containerd"), settings.words("Images", "Docker"),
            settings.words("Images", "Podman")};
}

} // namespace gpuhost::images
