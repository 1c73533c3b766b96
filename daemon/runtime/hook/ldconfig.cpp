// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/ldconfig.hpp"

#include "daemon/base/root.hpp"
#include "daemon/runtime/hook/mount_calls.hpp"
#include "daemon/runtime/hook/privileges.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::fail;
using base::fail_errno;
using base::Result;
using base::UniqueFd;

constexpr std::size_t max_program = 16U << 20;
/// Bytes of the program to read: linkers place the program headers first.
constexpr std::size_t head_bytes = 4096;
constexpr rlim_t max_cache = 64U << 20;
constexpr rlim_t max_files = 64; ///< open files; limits an ld.so.conf that includes itself

/// Copies a file within the kernel, without a buffer in this process.
Result<void> copy_all(int from, int to, const std::string& path) {
    for (std::size_t left = max_program; left > 0;) {
        const ssize_t n = ::sendfile(to, from, nullptr, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno("copying " + path, errno);
        if (n == 0)
            return {};
        left -= static_cast<std::size_t>(n);
    }
    return fail(Errc::BadContent, path + ": too large for a program");
}

/// Returns a copy of the program in a detached read-only mount. With the original, a container that sees this
/// process could write to the host's file through /proc/PID/exe. A memfd is not suitable: a host may forbid
/// its execution by the sysctl vm.memfd_noexec.
Result<UniqueFd> copy_program(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file)
        return fail_errno(path, errno);
    GPUHOST_TRY(tmpfs, make_tmpfs(max_program));
    UniqueFd copy(::openat(tmpfs.get(), "ldconfig", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0500));
    if (!copy)
        return fail_errno("copying " + path, errno);
    GPUHOST_CHECK(copy_all(file.get(), copy.get(), path));
    std::array<char, head_bytes> head{};
    const ssize_t n = ::pread(copy.get(), head.data(), head.size(), 0);
    if (!is_static_program({head.data(), n < 0 ? 0 : static_cast<std::size_t>(n)}))
        return fail(Errc::Unsupported, path + ": not a statically linked program",
                    "Give the path of glibc's ldconfig with --ldconfig-path.");
    copy.reset(); // an open writer would make the program busy
    GPUHOST_CHECK(make_read_only(tmpfs.get()));
    copy.reset(::openat(tmpfs.get(), "ldconfig", O_PATH | O_CLOEXEC));
    if (!copy)
        return fail_errno("copying " + path, errno);
    return copy;
}

/// Prepares the namespaces and executes ldconfig. Runs in a child process; returns only on failure.
Result<void> become_ldconfig(const std::string& path, int program) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) // the child ends with the hook's deadline
        return fail_errno("prctl", errno);
    GPUHOST_CHECK(keep_mounts_private());
    const UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); // in this mount namespace
    if (!root)
        return fail_errno(path, errno);
    GPUHOST_TRY(tree, clone_writable_with_sealed_mounts(root.get()));
    GPUHOST_CHECK(attach(tree.get(), root.get()));
    GPUHOST_CHECK(pivot_into(tree.get()));
    for (const char* kernels : {"/proc", "/sys", "/dev"})
        detach(kernels);
    GPUHOST_CHECK(limit(RLIMIT_DATA, max_memory));
    GPUHOST_CHECK(limit(RLIMIT_FSIZE, max_cache));
    GPUHOST_CHECK(limit(RLIMIT_NOFILE, max_files));
    GPUHOST_CHECK(limit(RLIMIT_CORE, 0));
    GPUHOST_CHECK(keep_only_file_access());
    GPUHOST_CHECK(forbid_sockets());
    const std::array<const char*, 6> argv{"ldconfig",         "-f",   "/etc/ld.so.conf", "-C",
                                          "/etc/ld.so.cache", nullptr};
    const std::array<const char*, 1> environment{nullptr};
    ::syscall(SYS_execveat, program, "", argv.data(), environment.data(), AT_EMPTY_PATH);
    return fail_errno("starting ldconfig", errno);
}

} // namespace

bool is_static_program(std::string_view elf) {
    Elf64_Ehdr header{};
    if (elf.size() < sizeof header)
        return false;
    std::memcpy(&header, elf.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
        return false;
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (header.e_phoff > elf.size() || elf.size() - header.e_phoff < (i + 1) * sizeof segment)
            return false;
        std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_INTERP)
            return false;
    }
    return true;
}

Result<void> run_ldconfig(const ContainerRoot& root, const std::string& program) {
    GPUHOST_TRY(copy, copy_program(program));
    GPUHOST_CHECK(root.check_own("/etc/ld.so.cache"));
    // ldconfig writes to this name, and would block on a pipe from the image.
    GPUHOST_CHECK(root.remove("/etc/ld.so.cache~"));
    constexpr long spaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    const auto pid =
        static_cast<pid_t>(::syscall(SYS_clone, spaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (pid < 0)
        return fail_errno("creating namespaces for ldconfig", errno);
    if (pid == 0) {
        const auto done = become_ldconfig(root.path(), copy.get());
        std::fprintf(stderr, "gpuhost-cdi-hook: %s\n", done.error().message.c_str());
        ::_exit(1);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return fail_errno("waiting for ldconfig", errno);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(Errc::Failed, WIFSIGNALED(status)
                                      ? "ldconfig was killed by signal " + std::to_string(WTERMSIG(status))
                                      : "ldconfig exited with status " + std::to_string(WEXITSTATUS(status)));
    return {};
}

} // namespace gpuhost::runtime
