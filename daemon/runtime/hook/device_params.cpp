// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/device_params.hpp"

#include "daemon/base/root.hpp"
#include "daemon/runtime/hook/mount_calls.hpp"

#include <cerrno>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

namespace gpuhost::runtime {
namespace {

using base::fail_errno;
using base::Result;
using base::UniqueFd;

constexpr const char* params_path = "/proc/driver/nvidia/params";
constexpr std::string_view allowed = "ModifyDeviceFiles: 1\n";
constexpr std::string_view forbidden = "ModifyDeviceFiles: 0\n";

bool is_of_proc(int fd) {
    struct statfs system {};
    return ::fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// Returns a mount of a new file that is reachable only through this mount. The file's tmpfs must be attached
/// before the file can be mounted. It is attached at `place` for that moment only, while the container does
/// not run yet.
Result<UniqueFd> mount_of_file(const std::string& content, int place) {
    GPUHOST_TRY(tmpfs, make_tmpfs(1U << 16));
    const UniqueFd file(::openat(tmpfs.get(), "params", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!file)
        return fail_errno("creating the params file", errno);
    GPUHOST_CHECK(base::write_all(file.get(), content, params_path));
    const UniqueFd path(::openat(tmpfs.get(), "params", O_PATH | O_CLOEXEC));
    if (!path)
        return fail_errno("creating the params file", errno);
    GPUHOST_CHECK(attach(tmpfs.get(), place));
    auto mount = clone_sealed(path.get());
    GPUHOST_CHECK(detach(tmpfs.get()));
    return mount;
}

} // namespace

std::optional<std::string> without_modification(std::string_view params) {
    std::string text(params);
    if (text.empty() || text.back() != '\n')
        text += '\n';
    const auto at = text.find(allowed);
    if (at == std::string::npos || (at != 0 && text[at - 1] != '\n'))
        return std::nullopt;
    return text.replace(at, allowed.size(), forbidden);
}

Result<void> disable_device_node_modification(const ContainerRoot& root) {
    const UniqueFd hosts(::open(params_path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!hosts)
        return errno == ENOENT ? Result<void>() : fail_errno(params_path, errno);
    GPUHOST_TRY(params, base::read_all(hosts.get(), ContainerRoot::max_file, params_path));
    const auto changed = without_modification(params);
    const auto target = root.find(params_path);
    if (!changed || !target || !is_of_proc(target->get()))
        return {};
    GPUHOST_TRY(place, root.find("/proc"));
    GPUHOST_TRY(mount, mount_of_file(*changed, place.get()));
    return attach(mount.get(), target->get());
}

} // namespace gpuhost::runtime
