// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/block_device.hpp"

#include "daemon/base/root.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpuhost::images {

namespace {

constexpr unsigned most_layers = 8; ///< limit of nested device-mapper devices

/// Reports whether a block device is a rotating disk, or is made of one (device-mapper). `device` is its
/// directory below /sys. `layers` limits how deep device-mapper devices are followed.
bool turns(const base::Root& root, const std::string& device, unsigned layers) {
    std::error_code error;
    const std::string path = std::filesystem::canonical(device, error).string();
    if (error || path.find("/virtio") != std::string::npos)
        return false;
    const auto below = root.list(path + "/slaves").value_or(std::vector<std::string>());
    if (!below.empty() && layers > 0)
        return std::any_of(below.begin(), below.end(), [&](const std::string& name) {
            return turns(root, path + "/slaves/" + name, layers - 1);
        });
    // The first path is for a whole disk. A partition has no queue/; its disk is the parent directory.
    for (const char* queue : {"/queue/rotational", "/../queue/rotational"})
        if (const auto said = root.read_line(path + queue))
            return *said == "1";
    return false;
}

} // namespace

bool seeks_slowly(int fd) {
    struct stat st {};
    const auto root = base::Root::open("/");
    return root && ::fstat(fd, &st) == 0 &&
           turns(*root,
                 "/sys/dev/block/" + std::to_string(major(st.st_dev)) + ":" +
                     std::to_string(minor(st.st_dev)),
                 most_layers);
}

} // namespace gpuhost::images
