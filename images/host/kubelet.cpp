// SPDX-License-Identifier: Apache-2.0
#include "images/host/kubelet.hpp"

#include "daemon/base/parse.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/statvfs.h>

namespace gpuhost::images {

namespace {

constexpr unsigned default_threshold = 85; ///< percent, as in SetDefaults_KubeletConfiguration of Kubernetes
constexpr std::string_view kubelet_directory = "/var/lib/kubelet";
constexpr std::string_view configuration_file = "/var/lib/kubelet/config.yaml";
/// Directories in which runtimes keep their images.
constexpr std::array image_file_systems{
    std::string_view("/var/lib/containerd"), std::string_view("/var/lib/containers/storage"),
    std::string_view("/var/lib/docker"), std::string_view("/var/lib/rancher")};

bool shares_file_system(const base::Root& root) {
    const auto store = root.stat(root.existing_part(blobs_directory));
    return store &&
           std::any_of(image_file_systems.begin(), image_file_systems.end(), [&](std::string_view path) {
               const auto images = root.stat(path);
               return images && images->st_dev == store->st_dev;
           });
}

} // namespace

unsigned image_gc_threshold(std::string_view configuration) {
    constexpr std::string_view key = "imageGCHighThresholdPercent";
    // Searches the text for the key. This works for YAML and JSON, without a parser, because the value is a
    // number at the top level.
    for (std::size_t at = configuration.find(key); at != std::string_view::npos;
         at = configuration.find(key, at + 1)) {
        const std::size_t begin = configuration.find_last_of("\n,{", at);
        // If `begin` is npos, begin + 1 is 0.
        const std::string_view lead = configuration.substr(begin + 1, at - (begin + 1));
        if (lead.find_first_not_of(" \"'") != std::string_view::npos)
            continue; // not a key: in a comment, or part of another word
        std::string_view rest = configuration.substr(at + key.size());
        rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \"':")));
        const auto percent = base::parse_uint(rest.substr(0, rest.find_first_not_of("0123456789")));
        if (percent && *percent <= 100)
            return static_cast<unsigned>(*percent);
    }
    return default_threshold;
}

std::optional<unsigned> kubelet_threshold(const base::Root& root) {
    if (!root.exists(kubelet_directory))
        return std::nullopt;
    return image_gc_threshold(root.read(configuration_file).value_or(""));
}

std::string image_gc_warning(const base::Root& root, std::uint64_t bytes, std::optional<unsigned> threshold) {
    if (bytes == 0 || !threshold || !shares_file_system(root))
        return {};
    const auto store = root.open_file(root.existing_part(blobs_directory), O_RDONLY | O_DIRECTORY);
    struct statvfs space {};
    if (!store || ::fstatvfs(store->get(), &space) < 0 || space.f_blocks == 0)
        return {};
    const std::uint64_t blocks =
        // The kubelet counts blocks that are reserved for root as used.
        space.f_blocks - space.f_bavail + bytes / space.f_frsize;
    const std::uint64_t percent = blocks * 100 / space.f_blocks;
    if (percent < *threshold)
        return {};
    return "the file system of " + std::string(blobs_directory) + " will be " + std::to_string(percent) +
           " % full, and at " + std::to_string(*threshold) +
           " % the kubelet deletes images that no container uses; free space, or move the store to its own "
           "file system";
}

} // namespace gpuhost::images
