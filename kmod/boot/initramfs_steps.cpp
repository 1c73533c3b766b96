// SPDX-License-Identifier: Apache-2.0
// Step initramfs.clear: makes sure that no initramfs image of a kernel contains a GPU driver. args:
// {"kernel"}. If an image contains a driver, the host's tool creates the image again. The tool calls
// gpuhost's hooks (packaging/initramfs/), which exclude the driver.
#include "daemon/base/parse.hpp"
#include "kmod/boot/host_programs.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/boot/initramfs_tool.hpp"
#include "kmod/step_code.hpp"

#include <cerrno>
#include <set>

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

Result<std::string> kernel_from(const Json& args) {
    GPUHOST_TRY(kernel, base::get_string(args, "kernel"));
    if (!base::is_kernel_release(kernel))
        return base::fail(Errc::InvalidArgument, "'" + kernel + "' is not a kernel release");
    return kernel;
}

struct Content {
    base::UniqueFd fd;
    struct stat st {};
    std::vector<std::string> modules; ///< paths of modules of GPU drivers in the image
};

/// Reads an image and lists the GPU drivers in it. image.path may also be a new file that will replace the
/// image.
Result<Content> read_content(const base::Root& root, const BootImage& image, const std::string& kernel) {
    Content content;
    GPUHOST_TRY(fd, root.open_file(image.path, O_RDONLY));
    content.fd = std::move(fd);
    if (::fstat(content.fd.get(), &content.st) < 0)
        return base::fail_errno(image.path, errno);
    auto modules = gpu_modules_of(image, content.fd.get(), kernel);
    if (!modules)
        return base::fail(modules.error().code,
                          "cannot list the modules in an initramfs: " + modules.error().message,
                          std::string("Create it again, ") + or_ignore_images);
    content.modules = *std::move(modules);
    return content;
}

Result<void> sync(const Content& content, const std::string& path) {
    return ::fsync(content.fd.get()) < 0 ? base::fail_errno(path, errno) : Result<void>();
}

/// Warns of images that could not be created again. A warning suffices, because the worker of the preflight
/// does not read images, and most images contain no driver.
Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(kernel, kernel_from(args));
    if (!runs_programs_of(context.root))
        return std::vector<Problem>();
    for (const BootImage& image : boot_images_of(context.root, kernel)) {
        const auto st = context.root.stat(image.path);
        if (!st || is_known_clean(context.root, kernel, image.path))
            continue;
        if (const auto found = obstacle(context.root, image, kernel, static_cast<std::uint64_t>(st->st_size)))
            context.warn(found->message + "; this step fails if the image contains a GPU driver. " +
                         found->hint);
    }
    return std::vector<Problem>();
}

using Paths = std::set<std::string>;

std::string unfinished_file(const std::string& kernel) {
    return std::string(initramfs_directory) + "/" + kernel + ".unfinished";
}

/// Returns the images whose tool was started and has not ended successfully. The image file may be new
/// already while the tool has not updated boot loaders yet, so the tool must run again.
Paths unfinished_images(const base::Root& root, const std::string& kernel) {
    Paths paths;
    for (const std::string& path : base::split(root.read(unfinished_file(kernel)).value_or(""), '\n'))
        if (!path.empty())
            paths.insert(path);
    return paths;
}

Result<void> record_unfinished(const base::Root& root, const std::string& kernel, const Paths& paths) {
    if (paths.empty())
        return root.remove(unfinished_file(kernel));
    std::string text;
    for (const std::string& path : paths)
        text += path + "\n";
    GPUHOST_CHECK(root.make_directories(initramfs_directory));
    return root.write_atomic(unfinished_file(kernel), text);
}

/// Creates the image again with the host's tool. Then checks that the result contains no driver, syncs it to
/// the disk, and records it as clean. dracut writes another file, which replaces the image only after the
/// check. update-initramfs replaces the image itself, before the check.
Result<void> make_anew(const StepContext& context, const BootImage& image, const std::string& kernel) {
    const ImageTool tool = *tool_for(context.root, image, kernel);
    Paths unfinished = unfinished_images(context.root, kernel);
    unfinished.insert(image.path);
    GPUHOST_CHECK(record_unfinished(context.root, kernel, unfinished));
    GPUHOST_CHECK(run_tool(context, kernel, tool, initramfs_deadline - std::chrono::minutes(1)));
    GPUHOST_TRY(made, read_content(context.root, {image.kind, tool.makes}, kernel));
    if (!made.modules.empty())
        return base::fail(Errc::Failed,
                          tool.argv.front() + " still includes '" + made.modules.front() + "' in '" +
                              image.path + "'",
                          "Remove the entry for it from /etc/initramfs-tools or /etc/dracut.conf.d, " +
                              std::string(or_ignore_images));
    GPUHOST_CHECK(sync(made, tool.makes));
    if (tool.makes != image.path)
        GPUHOST_CHECK(context.root.rename(tool.makes, image.path));
    GPUHOST_CHECK(context.root.sync_directory(image.path.substr(0, image.path.rfind('/'))));
    unfinished.erase(image.path);
    GPUHOST_CHECK(record_unfinished(context.root, kernel, unfinished));
    return record_clean(context.root, kernel, image.path, made.st);
}

/// Makes sure that one image has no GPU driver. Returns whether the image was created again.
Result<bool> clear(const StepContext& context, const BootImage& image, const std::string& kernel) {
    const bool finish = unfinished_images(context.root, kernel).count(image.path) != 0;
    if (!finish && is_known_clean(context.root, kernel, image.path))
        return false;
    context.progress(-1, "reading '" + image.path + "'");
    auto read = read_content(context.root, image, kernel);
    // only a warning for a mounted system: it may be damaged, and its programs are not run
    if (!read && !runs_programs_of(context.root)) {
        context.warn(read.error().message);
        return false;
    }
    GPUHOST_TRY(content, std::move(read));
    if (content.modules.empty() && !finish) {
        // The image may have been created just now and not be on the disk yet.
        GPUHOST_CHECK(sync(content, image.path));
        GPUHOST_CHECK(record_clean(context.root, kernel, image.path, content.st));
        return false;
    }
    if (!runs_programs_of(context.root) && !content.modules.empty())
        context.warn("'" + image.path + "' contains '" + content.modules.front() +
                     "': that system loads it instead of the selected driver until its initramfs is created "
                     "again there");
    if (!runs_programs_of(context.root))
        return false;
    if (auto found = obstacle(context.root, image, kernel, static_cast<std::uint64_t>(content.st.st_size))) {
        if (!content.modules.empty())
            found->message += "; it contains '" + content.modules.front() + "'";
        return base::fail(*std::move(found));
    }
    GPUHOST_CHECK(make_anew(context, image, kernel));
    return true;
}

/// Calls clear() for all images of a kernel. Returns whether one was created again.
Result<bool> clear_all(const StepContext& context, const std::string& kernel) {
    bool any = false;
    for (const BootImage& image : boot_images_of(context.root, kernel)) {
        GPUHOST_TRY(made, clear(context, image, kernel));
        any = any || made;
    }
    return any;
}

/// Runs clear_all(), and once more if an image was created: its tool may also have created another image that
/// was checked before.
Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(kernel, kernel_from(args));
    GPUHOST_TRY(made, clear_all(context, kernel));
    if (!made)
        return Json{{"made", false}};
    GPUHOST_CHECK(clear_all(context, kernel));
    return Json{{"made", true}, {"log", image_log(kernel)}};
}

Result<void> verify(StepContext& context, const Json& args) {
    GPUHOST_TRY(kernel, kernel_from(args));
    if (!runs_programs_of(context.root))
        return {};
    for (const BootImage& image : boot_images_of(context.root, kernel))
        if (!is_known_clean(context.root, kernel, image.path))
            return base::fail(
                Errc::Failed, "'" + image.path + "' was modified after it was checked",
                "Wait until the other program that creates images has finished, and try again.");
    return {};
}

/// Removes only temporary files. New images stay: an image without a driver also boots the previous driver.
Result<void> undo(StepContext& context, const Json& args) {
    GPUHOST_TRY(kernel, kernel_from(args));
    for (const BootImage& image : boot_images_of(context.root, kernel))
        for (const char* half : {".new", unfinished_image}) // suffixes of update-initramfs and of gpuhost
            // Does not call remove() for a missing file, because the file system may be read-only.
            if (context.root.exists(image.path + half))
                GPUHOST_CHECK(context.root.remove(image.path + half));
    return {};
}

} // namespace

core::StepCode initramfs_clear_code() {
    return {
        .name = "initramfs.clear", .preflight = preflight, .apply = apply, .verify = verify, .undo = undo};
}

} // namespace gpuhost::kmod
