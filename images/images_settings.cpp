// SPDX-License-Identifier: Apache-2.0
#include "images/images_settings.hpp"

#include <array>

namespace gpuhost::images {
namespace {

constexpr std::array keys{
    core::SettingKey{"Images", "AllowUnsigned", core::SettingType::Boolean, "no", "",
                     "whether images that nobody signed may be imported"},
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

std::vector<std::string> pinned_patterns(const core::Settings& settings) {
    return settings.words("Images", "Pin");
}

RuntimeSettings runtime_settings(const core::Settings& settings) {
    return {settings.words("Images", "Containerd"), settings.words("Images", "Docker"),
            settings.words("Images", "Podman")};
}

} // namespace gpuhost::images
