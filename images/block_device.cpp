// SPDX-License-Identifier: Apache-2.0
#include "images/block_device.hpp"

#include "daemon/base/root.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpuhost::images {

bool seeks_slowly(int fd) {
    struct stat st {};
    const auto root = base::Root::open("/");
    if (!root || ::fstat(fd, &st) < 0)
        return false;
    const std::string device =
        "/sys/dev/block/" + std::to_string(major(st.st_dev)) + ":" + std::to_string(minor(st.st_dev));
    std::error_code error;
    const std::string path = std::filesystem::canonical(device, error).string();
    if (error || path.find("/virtio") != std::string::npos)
        return false;
    for (const char* queue : {"/queue/rotational", "/../queue/rotational"}) // of a disk, of its partition
        if (const auto turns = root->read_line(path + queue))
            return *turns == "1";
    return false;
}

} // namespace gpuhost::images
