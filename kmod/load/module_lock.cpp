// SPDX-License-Identifier: Apache-2.0
#include "kmod/load/module_lock.hpp"

#include "daemon/base/clock.hpp"
#include "kmod/module/kernel_error.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

constexpr std::string_view run_directory = "/run/gpuhost";
constexpr std::string_view lock_file = "/run/gpuhost/modules.lock";

} // namespace

base::Result<ModuleLock> ModuleLock::take(const base::Root& root, std::chrono::milliseconds patience) {
    GPUHOST_CHECK(root.make_directories(run_directory));
    GPUHOST_TRY(fd, root.open_file(lock_file, O_RDWR | O_CREAT, 0600));
    const std::uint64_t until = base::monotonic_us() + static_cast<std::uint64_t>(patience.count()) * 1000;
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return base::fail_errno(lock_file, errno);
        const std::string hung = root.read_line(lock_file).value_or(std::string());
        if (!hung.empty())
            return base::fail(hung_error(hung));
        if (base::monotonic_us() >= until)
            return base::fail(hung_error("an earlier worker's load or unload of modules"));
        ::usleep(20'000);
    }
    if (::ftruncate(fd.get(), 0) < 0)
        return base::fail_errno(lock_file, errno);
    return ModuleLock(std::move(fd));
}

void ModuleLock::leave_hung(std::string_view doing) const {
    // Errors are ignored: without this record, the next caller of take() waits for its `patience` and fails
    // with the same error.
    (void)base::write_all(fd_.get(), doing, lock_file);
}

} // namespace gpuhost::kmod
