// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/initramfs.hpp"

#include "daemon/base/clock.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Json;
using base::Root;

namespace {

std::string record_of(const std::string& kernel) {
    return std::string(initramfs_directory) + "/" + kernel;
}

/// Returns what identifies the content of an image file: path, size, time and inode.
Json stamp(const std::string& image, const struct stat& st) {
    return {{"path", image},
            {"size", static_cast<std::int64_t>(st.st_size)},
            {"modified_us", base::modified_us(st)},
            {"inode", static_cast<std::uint64_t>(st.st_ino)}};
}

/// Returns the recorded clean images of a kernel, one element for each, in the form of stamp(). An unreadable
/// file counts as empty.
Json stamps(const Root& root, const std::string& kernel) {
    const auto text = root.read(record_of(kernel));
    auto record = text ? base::parse_json(*text, record_of(kernel)) : base::fail(base::Errc::NotFound, "");
    if (!record)
        return Json::array();
    // Older files contain one object instead of an array.
    return record->is_array() ? *std::move(record) : Json::array({*std::move(record)});
}

} // namespace

bool is_known_clean(const Root& root, const std::string& kernel, const std::string& image) {
    const auto st = root.stat(image);
    const Json known = stamps(root, kernel);
    return st && std::find(known.begin(), known.end(), stamp(image, *st)) != known.end();
}

base::Result<void> record_clean(const Root& root, const std::string& kernel, const std::string& image,
                                const struct stat& st) {
    Json known = Json::array({stamp(image, st)});
    for (const Json& other : stamps(root, kernel))
        if (const std::string path = base::string_or(other, "path", ""); path != image && root.exists(path))
            known.push_back(other);
    GPUHOST_CHECK(root.make_directories(initramfs_directory));
    return root.write_atomic(record_of(kernel), base::dump(known) + "\n");
}

std::map<std::string, std::string> unknown_initramfs(const Root& root,
                                                     const std::vector<InstalledKernel>& kernels) {
    std::map<std::string, std::string> unknown;
    for (const InstalledKernel& kernel : kernels)
        for (const BootImage& image : boot_images_of(root, kernel.release, OnDemand::Leave))
            if (!is_known_clean(root, kernel.release, image.path))
                unknown.try_emplace(kernel.release, image.path);
    return unknown;
}

std::vector<core::Step> initramfs_steps(const DriverSettings& settings,
                                        const std::map<std::string, std::string>& unknown,
                                        const std::string& kernel) {
    if (!settings.clear_initramfs || unknown.count(kernel) == 0)
        return {};
    return {{"initramfs.clear",
             "remove GPU drivers from the boot images of kernel " + kernel,
             {{"kernel", kernel}}}};
}

} // namespace gpuhost::kmod
