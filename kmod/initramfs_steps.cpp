// SPDX-License-Identifier: Apache-2.0
// initramfs.clear: a kernel's image has no driver of a GPU in it. args: {"kernel", "image": path}.
// One that has is made anew by the program that makes this host's images, which asks packaging/initramfs/ what to leave out.
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/content/initramfs.hpp"
#include "kmod/host_programs.hpp"
#include "kmod/initramfs.hpp"
#include "kmod/log_file.hpp"
#include "kmod/step_kind.hpp"

#include <cerrno>

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

constexpr auto clear_deadline = std::chrono::minutes(15);
constexpr const char* or_ignore =
    "or leave images as they are: Initramfs=ignore in [Driver] of gpuhostd.conf";
constexpr const char* unfinished = ".gpuhost"; ///< ending of an image that is being made

struct Request {
    std::string kernel;
    std::string image;
};

Result<Request> request_from(const Json& args) {
    GPUHOST_TRY(kernel, base::get_string(args, "kernel"));
    GPUHOST_TRY(image, base::get_string(args, "image"));
    if (!base::is_kernel_release(kernel) || !base::starts_with(image, "/boot/"))
        return base::fail(Errc::InvalidArgument, "'" + image + "' is no image of '" + kernel + "'");
    return Request{kernel, image};
}

struct Tool {
    std::vector<std::string> argv; ///< its path first, as the root has it
    std::string makes;             ///< the image, or a file that is to take its place
};

bool is_program(const base::Root& root, const char* path) {
    const auto st = root.stat(path);
    return st && S_ISREG(st->st_mode) && (st->st_mode & S_IXUSR) != 0;
}

/// dracut writes over the file that it is given, so that it is given another; update-initramfs renames, and tells boot loaders.
std::optional<Tool> tool_for(const base::Root& root, const Request& request) {
    constexpr const char* update = "/usr/sbin/update-initramfs";
    if (base::starts_with(request.image, "/boot/initrd.img-") && is_program(root, update))
        return Tool{{update, "-u", "-k", request.kernel}, request.image};
    const std::string made = request.image + unfinished;
    for (const char* dracut : {"/usr/bin/dracut", "/usr/sbin/dracut"})
        if (is_program(root, dracut))
            return Tool{{dracut, "--force", root.host_path(made), request.kernel}, made};
    return std::nullopt;
}

struct Image {
    base::UniqueFd fd;
    struct stat st {};
    std::vector<std::string> modules; ///< of drivers of a GPU
};

Result<Image> read_image(const base::Root& root, const std::string& path) {
    Image image;
    GPUHOST_TRY(fd, root.open_file(path, O_RDONLY));
    image.fd = std::move(fd);
    if (::fstat(image.fd.get(), &image.st) < 0)
        return base::fail_errno(path, errno);
    auto modules = content::gpu_modules_of_initramfs({image.fd.get()}, path);
    if (!modules)
        return base::fail(modules.error().code,
                          "it can't be seen what is in an initramfs: " + modules.error().message,
                          std::string("have it made anew, ") + or_ignore);
    image.modules = *std::move(modules);
    return image;
}

/// What keeps it from being made anew.
std::optional<base::Error> obstacle(const base::Root& root, const Request& request, std::uint64_t size) {
    if (!tool_for(root, request))
        return base::Error{Errc::Unsupported,
                           "'" + request.image +
                               "' can't be made anew: neither update-initramfs nor dracut is installed",
                           std::string("install what makes this host's images, ") + or_ignore};
    if (const auto left = root.free_bytes("/boot"); left && *left < size)
        return base::Error{Errc::NoSpace,
                           "'" + request.image + "' has " + std::to_string((size >> 20U) + 1) + " MiB, and " +
                               std::to_string(*left >> 20U) + " MiB are free in /boot to make it anew",
                           std::string("remove kernels that no boot needs, ") + or_ignore};
    return std::nullopt;
}

/// No refusal: what is in the image is not for this worker to read, and most often there is nothing to make.
Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(request, request_from(args));
    const auto st = context.root.stat(request.image);
    if (!st || !runs_programs_of(context.root))
        return std::vector<Problem>();
    if (const auto found = obstacle(context.root, request, static_cast<std::uint64_t>(st->st_size)))
        context.warn(found->message + ", which ends this if there is a driver in it; " + found->hint);
    return std::vector<Problem>();
}

/// Not among those of builds: that directory is another user's.
std::string log_path(const std::string& kernel) {
    return std::string(initramfs_directory) + "/" + kernel + ".log";
}

Result<void> make(const StepContext& context, const Request& request, const Tool& tool) {
    GPUHOST_TRY(log, LogFile::create(context.root, log_path(request.kernel)));
    std::string last;
    base::Command command;
    command.argv = tool.argv;
    command.argv.front() = context.root.host_path(tool.argv.front());
    command.environment = {"GPUHOST_INITRAMFS=exclude"}; // before there is a selection that says so
    command.deadline = clear_deadline - std::chrono::minutes(1);
    command.output_limit = 4096; // the log has it
    command.on_line = [&](std::string_view line) {
        log.line(line);
        last = line;
    };
    context.progress(-1, "making the initramfs of " + request.kernel);
    GPUHOST_TRY(finished, base::run(command));
    if (finished.exit_status == 0 && !finished.timed_out)
        return {};
    return base::fail(finished.timed_out ? Errc::Timeout : Errc::Failed,
                      tool.argv.front() + (finished.timed_out ? ": not done in time" : " failed: " + last),
                      "see " + log_path(request.kernel) + "; mend it, " + or_ignore);
}

/// Stands until the tool has done all that it does: once an image is in its place boot loaders may still have to be told.
std::string unfinished_mark(const std::string& kernel) {
    return std::string(initramfs_directory) + "/" + kernel + ".unfinished";
}

/// Nothing takes the image's place, and nothing is recorded, before it is seen to be clean and is on disk.
Result<void> make_anew(const StepContext& context, const Request& request, const Tool& tool) {
    GPUHOST_CHECK(context.root.make_directories(initramfs_directory));
    GPUHOST_CHECK(context.root.write_atomic(unfinished_mark(request.kernel), ""));
    GPUHOST_CHECK(make(context, request, tool));
    GPUHOST_TRY(made, read_image(context.root, tool.makes));
    if (!made.modules.empty())
        return base::fail(Errc::Failed,
                          tool.argv.front() + " still puts '" + made.modules.front() +
                              "' into the initramfs of " + request.kernel,
                          "look for what names it in /etc/initramfs-tools or /etc/dracut.conf.d, " +
                              std::string(or_ignore));
    if (::fsync(made.fd.get()) < 0)
        return base::fail_errno(tool.makes, errno);
    if (tool.makes != request.image)
        GPUHOST_CHECK(context.root.rename(tool.makes, request.image));
    GPUHOST_CHECK(context.root.sync_directory("/boot"));
    GPUHOST_CHECK(context.root.remove(unfinished_mark(request.kernel)));
    return record_clean(context.root, request.kernel, request.image, made.st);
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(request, request_from(args));
    if (!context.root.stat(request.image))
        return Json{{"made", false}};
    context.progress(-1, "reading the initramfs of " + request.kernel);
    GPUHOST_TRY(image, read_image(context.root, request.image));
    if (image.modules.empty() && !context.root.exists(unfinished_mark(request.kernel))) {
        GPUHOST_CHECK(record_clean(context.root, request.kernel, request.image, image.st));
        return Json{{"made", false}};
    }
    if (!runs_programs_of(context.root) && image.modules.empty())
        return Json{{"made", false}};
    if (!runs_programs_of(context.root)) {
        context.warn(
            "'" + request.image + "' holds '" + image.modules.front() +
            "', which that system loads in place of what is selected until its initramfs is made anew there");
        return Json{{"made", false}};
    }
    if (auto found = obstacle(context.root, request, static_cast<std::uint64_t>(image.st.st_size)))
        return base::fail(*std::move(found));
    GPUHOST_CHECK(make_anew(context, request, *tool_for(context.root, request)));
    return Json{{"made", true}, {"log", log_path(request.kernel)}};
}

Result<void> verify(StepContext& context, const Json& args) {
    GPUHOST_TRY(request, request_from(args));
    if (!runs_programs_of(context.root) || !context.root.stat(request.image) ||
        is_known_clean(context.root, request.kernel, request.image))
        return {};
    return base::fail(Errc::Failed, "'" + request.image + "' is not what was just looked at",
                      "something else makes images at the same time; try again once it is done");
}

/// What has no driver in it boots the one from before too, so the image stays.
Result<void> undo(StepContext& context, const Json& args) {
    GPUHOST_TRY(request, request_from(args));
    GPUHOST_CHECK(context.root.remove(request.image + ".new")); // update-initramfs's
    return context.root.remove(request.image + unfinished);
}

} // namespace

core::StepKind initramfs_clear_kind() {
    core::StepKind kind;
    kind.name = "initramfs.clear";
    kind.sandbox = core::Sandbox::Boot;
    kind.deadline = clear_deadline;
    kind.interruptible = true;
    kind.preflight = preflight;
    kind.apply = apply;
    kind.verify = verify;
    kind.undo = undo;
    return kind;
}

} // namespace gpuhost::kmod
