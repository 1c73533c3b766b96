// SPDX-License-Identifier: Apache-2.0
// Archives in memory, as "docker save" wrote them before version 25.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "tests/support/archives.hpp"

#include <string>
#include <vector>

namespace gpuhost::tests {

inline std::string docker_config(const std::vector<std::string>& unpacked_layers) {
    base::Json ids = base::Json::array();
    for (const std::string& layer : unpacked_layers)
        ids.push_back("sha256:" + content::sha256(layer));
    return base::dump({{"architecture", "arm64"},
                       {"os", "linux"},
                       {"variant", "v8"},
                       {"rootfs", {{"type", "layers"}, {"diff_ids", std::move(ids)}}}});
}

/// An archive of Docker before 25. Tests may change its members before tar().
struct DockerArchive {
    std::vector<Member> members;
    base::Json manifest = base::Json::array();

    /// Adds an image. `layers` are paths of members.
    void name(const std::string& config, const std::vector<std::string>& layers, const base::Json& tags) {
        manifest.push_back({{"Config", config}, {"RepoTags", tags}, {"Layers", layers}});
    }
    [[nodiscard]] std::string tar(Packing packing = Packing::None) const {
        std::vector<Member> all = members;
        all.push_back({"manifest.json", base::dump(manifest)});
        return tar_of(all, packing);
    }
};

/// Returns an archive with the layer "base" twice, the second time as a link.
inline DockerArchive two_layer_archive() {
    DockerArchive archive;
    archive.members = {
        {"111/", "", Member::Type::Directory},
        {"111/VERSION", "1.0"},
        {"111/json", "{}"},
        {"111/layer.tar", "base"},
        {"222/layer.tar", "top"},
        {"333/layer.tar", "", Member::Type::Link, "../111/layer.tar"},
        {"config.json", docker_config({"base", "top", "base"})},
        {"repositories", R"({"app":{"v1":"333"}})"},
    };
    archive.name("config.json", {"111/layer.tar", "222/layer.tar", "333/layer.tar"},
                 base::Json::array({"app:v1", "registry.example:5000/team/app:v1"}));
    return archive;
}

} // namespace gpuhost::tests
