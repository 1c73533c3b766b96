// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/initramfs_tool.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/build/log_file.hpp"

namespace gpuhost::kmod {

using base::Errc;
using base::Result;
using core::StepContext;

namespace {

bool is_program(const base::Root& root, const char* path) {
    const auto st = root.stat(path);
    return st && S_ISREG(st->st_mode) && (st->st_mode & S_IXUSR) != 0;
}

std::string directory_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

} // namespace

// dracut overwrites the given file in place, so it is given a temporary name. update-initramfs writes a
// temporary file and renames it to the image. Then it updates boot loaders, or copies the image to their
// directory.
std::optional<ImageTool> tool_for(const base::Root& root, const BootImage& image, const std::string& kernel) {
    constexpr const char* update = "/usr/sbin/update-initramfs";
    if (image.kind == BootImage::Kind::Unified)
        return std::nullopt;
    if (base::ends_with(image.path, "/initrd.img-" + kernel) && is_program(root, update))
        return ImageTool{{update, "-u", "-k", kernel}, image.path};
    const std::string made = image.path + unfinished_image;
    for (const char* dracut : {"/usr/bin/dracut", "/usr/sbin/dracut"})
        if (is_program(root, dracut))
            return ImageTool{{dracut, "--force", root.host_path(made), kernel}, made};
    return std::nullopt;
}

std::optional<base::Error> obstacle(const base::Root& root, const BootImage& image, const std::string& kernel,
                                    std::uint64_t size) {
    if (image.kind == BootImage::Kind::Unified)
        return base::Error{Errc::Unsupported,
                           "'" + image.path + "' cannot be created again here: it is a unified kernel image",
                           "Run as root: GPUHOST_INITRAMFS=exclude " + command_to_make(root, image, kernel) +
                               "; " + or_ignore_images};
    if (!tool_for(root, image, kernel))
        return base::Error{
            Errc::Unsupported,
            "'" + image.path + "' cannot be created again: neither update-initramfs nor dracut is installed",
            std::string("Install the tool that creates this host's images, ") + or_ignore_images};
    const std::string directory = directory_of(image.path);
    if (const auto left = root.free_bytes(directory); left && *left < size)
        return base::Error{Errc::NoSpace,
                           "'" + image.path + "' cannot be created again: it needs " +
                               std::to_string((size >> 20U) + 1) + " MiB, but " +
                               std::to_string(*left >> 20U) + " MiB are free in " + directory,
                           std::string("Remove kernels that are not needed, ") + or_ignore_images};
    return std::nullopt;
}

std::string image_log(const std::string& kernel) {
    return std::string(initramfs_directory) + "/" + kernel + ".log";
}

Result<void> run_tool(const StepContext& context, const std::string& kernel, const ImageTool& tool,
                      std::chrono::milliseconds deadline) {
    GPUHOST_TRY(log, LogFile::create(context.root, image_log(kernel)));
    std::string last;
    base::Command command;
    command.argv = tool.argv;
    command.argv.front() = context.root.host_path(tool.argv.front());
    // makes gpuhost's hooks exclude GPU drivers, even if no driver is selected yet
    command.environment = {"GPUHOST_INITRAMFS=exclude"};
    command.deadline = deadline;
    command.output_limit = 4096; // bytes that are kept in memory; the log has the whole output
    command.on_line = [&](std::string_view line) {
        log.line(line);
        last = line;
    };
    context.progress(-1, "creating the initramfs of " + kernel);
    GPUHOST_TRY(finished, base::run(command));
    if (finished.exit_status == 0 && !finished.timed_out)
        return {};
    return base::fail(finished.timed_out ? Errc::Timeout : Errc::Failed,
                      tool.argv.front() + (finished.timed_out ? ": timed out" : " failed: " + last),
                      "See " + image_log(kernel) + " and repair the cause, " + or_ignore_images);
}

} // namespace gpuhost::kmod
