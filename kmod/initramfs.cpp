// SPDX-License-Identifier: Apache-2.0
#include "kmod/initramfs.hpp"

#include "daemon/base/clock.hpp"

namespace gpuhost::kmod {

using base::Json;
using base::Root;

namespace {

std::string record_of(const std::string& kernel) {
    return std::string(initramfs_directory) + "/" + kernel;
}

Json stamp(const std::string& image, const struct stat& st) {
    return {{"path", image},
            {"size", static_cast<std::int64_t>(st.st_size)},
            {"modified_us", base::modified_us(st)},
            {"inode", static_cast<std::uint64_t>(st.st_ino)}};
}

} // namespace

std::optional<std::string> initramfs_of(const Root& root, const std::string& kernel) {
    for (const std::string& image : {"/boot/initrd.img-" + kernel, "/boot/initramfs-" + kernel + ".img"})
        if (const auto st = root.stat(image); st && S_ISREG(st->st_mode))
            return image;
    return std::nullopt;
}

bool is_known_clean(const Root& root, const std::string& kernel, const std::string& image) {
    const auto st = root.stat(image);
    const auto text = root.read(record_of(kernel));
    const auto record =
        text ? base::parse_json(*text, record_of(kernel)) : base::fail(base::Errc::NotFound, "");
    return st && record && *record == stamp(image, *st);
}

base::Result<void> record_clean(const Root& root, const std::string& kernel, const std::string& image,
                                const struct stat& st) {
    GPUHOST_CHECK(root.make_directories(initramfs_directory));
    return root.write_atomic(record_of(kernel), base::dump(stamp(image, st)) + "\n");
}

std::map<std::string, std::string> unknown_initramfs(const Root& root,
                                                     const std::vector<InstalledKernel>& kernels) {
    std::map<std::string, std::string> unknown;
    for (const InstalledKernel& kernel : kernels)
        if (const auto image = initramfs_of(root, kernel.release);
            image && !is_known_clean(root, kernel.release, *image))
            unknown[kernel.release] = *image;
    return unknown;
}

std::vector<core::Step> initramfs_steps(const DriverSettings& settings, const Observed& observed,
                                        const std::string& kernel) {
    const auto image = observed.initramfs.find(kernel);
    if (!settings.clear_initramfs || image == observed.initramfs.end())
        return {};
    return {{"initramfs.clear",
             "have no driver of a GPU in '" + image->second + "'",
             {{"kernel", kernel}, {"image", image->second}}}};
}

} // namespace gpuhost::kmod
