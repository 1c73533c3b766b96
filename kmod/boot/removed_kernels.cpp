// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/removed_kernels.hpp"

#include "daemon/base/kernels.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"

#include <set>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using content::FileOperation;
using core::StepContext;

const std::string boot_directory = std::string(store_directory) + "/boot";

std::string directory_of(const std::string& kernel) {
    return "/lib/modules/" + kernel;
}
std::string modules_path(const std::string& kernel) {
    return directory_of(kernel) + "/updates/gpuhost";
}
std::string boot_path(const std::string& kernel) {
    return boot_directory + "/" + kernel;
}
std::string record_path(const std::string& kernel) {
    return std::string(selected_directory) + "/" + kernel;
}

/// Returns the target of a link that gpuhost made; empty for any other file.
std::string own_link(const Root& root, const std::string& path) {
    return content::is_ours(root, path) ? root.read_link(path).value_or(std::string()) : std::string();
}

/// Returns the kernel in the args. Fails with InUse if the kernel was installed again after the plan was
/// made.
Result<RemovedKernel> still_removed(const StepContext& context, const Json& args) {
    RemovedKernel kernel = gone_kernel_from_json(args);
    if (!base::is_kernel_release(kernel.release))
        return base::fail(Errc::InvalidArgument, "'" + kernel.release + "' is not a kernel release");
    GPUHOST_TRY(running, kernel_release(context.root));
    if (running == kernel.release || base::kernel_is_installed(context.root, kernel.release))
        return base::fail(Errc::InUse, "kernel " + kernel.release + " is installed");
    return kernel;
}

/// Removes an empty directory. The package manager did not remove it with the kernel, because it contained
/// gpuhost's link.
Result<void> remove_if_empty(const Root& root, const std::string& directory) {
    const auto left = root.list(directory);
    return left && left->empty() ? root.remove(directory) : Result<void>();
}

Result<Json> forget(StepContext& context, const Json& args) {
    GPUHOST_TRY(kernel, still_removed(context, args));
    if (!kernel.modules.empty()) {
        GPUHOST_CHECK(
            content::perform(context.root, {FileOperation::Type::Remove, modules_path(kernel.release), {}}));
        GPUHOST_CHECK(remove_if_empty(context.root, directory_of(kernel.release) + "/updates"));
        GPUHOST_CHECK(remove_if_empty(context.root, directory_of(kernel.release)));
    }
    // Undo does not restore these records, because they can be made again.
    for (const char* file : {"", ".log", ".unfinished"})
        GPUHOST_CHECK(context.root.remove(std::string(initramfs_directory) + "/" + kernel.release + file));
    GPUHOST_CHECK(remove_selection(context.root, kernel.release));
    if (!kernel.boot.empty())
        GPUHOST_CHECK(
            content::perform(context.root, {FileOperation::Type::Remove, boot_path(kernel.release), {}}));
    return Json::object();
}

/// Restores the files of a removed kernel. If that kernel was installed again, it then boots the same driver
/// as before.
Result<void> remember(StepContext& context, const Json& args) {
    const RemovedKernel kernel = gone_kernel_from_json(args);
    if (!kernel.boot.empty())
        GPUHOST_CHECK(content::perform(context.root,
                                       {FileOperation::Type::Link, boot_path(kernel.release), kernel.boot}));
    if (!kernel.record.empty())
        GPUHOST_CHECK(context.root.write_atomic(record_path(kernel.release), kernel.record));
    if (!kernel.modules.empty())
        GPUHOST_CHECK(content::perform(
            context.root, {FileOperation::Type::Link, modules_path(kernel.release), kernel.modules}));
    return {};
}

} // namespace

Json to_json(const RemovedKernel& kernel) {
    return {{"kernel", kernel.release},
            {"modules", kernel.modules},
            {"record", kernel.record},
            {"boot", kernel.boot}};
}

RemovedKernel gone_kernel_from_json(const Json& value) {
    return {base::string_or(value, "kernel", ""), base::string_or(value, "modules", ""),
            base::string_or(value, "record", ""), base::string_or(value, "boot", "")};
}

std::vector<RemovedKernel> find_removed_kernels(const Root& root, const std::string& running) {
    std::set<std::string> releases;
    for (const std::string& directory : {boot_directory, std::string(selected_directory)})
        for (std::string& name : root.list(directory).value_or(std::vector<std::string>()))
            if (name != running && base::is_kernel_release(name) && !base::kernel_is_installed(root, name))
                releases.insert(std::move(name));
    std::vector<RemovedKernel> gone;
    gone.reserve(releases.size());
    for (const std::string& release : releases)
        gone.push_back({release, own_link(root, modules_path(release)),
                        root.read(record_path(release)).value_or(std::string()),
                        own_link(root, boot_path(release))});
    return gone;
}

core::StepCode store_forget_code() {
    core::StepCode code;
    code.name = "store.forget";
    code.preflight = [](StepContext& context, const Json& args) -> Result<std::vector<core::Problem>> {
        if (const auto gone = still_removed(context, args); !gone)
            return std::vector<core::Problem>{{gone.error().code, gone.error().message, gone.error().hint}};
        return std::vector<core::Problem>{};
    };
    code.apply = forget;
    // Needs no verify: apply fails if a file is not removed.
    code.undo = remember;
    return code;
}

} // namespace gpuhost::kmod
