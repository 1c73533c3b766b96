// SPDX-License-Identifier: Apache-2.0
// gpuhost-cdi-hook: prepares a container's root file system. The container runtime starts it for each hook of
// a CDI specification, after the root is mounted and before any process of the container runs.
#include "config.h"
#include "daemon/base/root.hpp"
#include "daemon/runtime/hook/container_root.hpp"
#include "daemon/runtime/hook/container_state.hpp"
#include "daemon/runtime/hook/cuda_compat.hpp"
#include "daemon/runtime/hook/device_params.hpp"
#include "daemon/runtime/hook/ldconfig.hpp"
#include "daemon/runtime/hook/options.hpp"
#include "daemon/runtime/hook/privileges.hpp"
#include "daemon/runtime/hook/search_path.hpp"
#include "daemon/runtime/hook/symlinks.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <new>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Result;
using runtime::ContainerRoot;
using runtime::HookOptions;

constexpr const char* usage = R"(gpuhost-cdi-hook HOOK [OPTIONS]

Prepares a container's root file system for its GPUs. Started by container runtimes for the hooks of a CDI
specification, with the container's state on standard input; see gpuhost-cdi-hook(8).

  create-symlinks --link=TARGET::LINK…
  enable-cuda-compat --host-driver-version=VERSION
  update-ldcache [--ldconfig-path=PATH] --folder=DIR…
  disable-device-node-modification

  -h, --help  print this
  --version   print the version
)";

#ifdef __has_feature // clang's
#define GPUHOST_HAS_FEATURE(x) __has_feature(x)
#else
#define GPUHOST_HAS_FEATURE(x) 0
#endif

constexpr unsigned deadline_s = 30;
constexpr std::string_view out_of_time = "gpuhost-cdi-hook: timed out after 30 seconds\n";
constexpr std::string_view out_of_memory = "gpuhost-cdi-hook: memory limit exceeded\n";

template <const std::string_view& why>
void give_up() {
    (void)!::write(STDERR_FILENO, why.data(), why.size());
    ::_exit(1);
}

std::vector<std::string> all_of(const HookOptions& options, std::string_view name) {
    const auto found = options.find(name);
    return found == options.end() ? std::vector<std::string>() : found->second;
}

/// Returns the last value of an option, or `fallback` if it is absent.
std::string one_of(const HookOptions& options, std::string_view name, const std::string& fallback) {
    const auto all = all_of(options, name);
    return all.empty() ? fallback : all.back();
}

/// Returns the path of the host's ldconfig. On Ubuntu /sbin/ldconfig is a script, and the program is
/// /sbin/ldconfig.real.
std::string ldconfig_of_host() {
    constexpr const char* real = "/sbin/ldconfig.real";
    return ::access(real, F_OK) == 0 ? real : "/sbin/ldconfig";
}

Result<void> create_symlinks(const ContainerRoot& root, const HookOptions& options) {
    return runtime::create_symlinks(root, all_of(options, "link"));
}

Result<void> enable_cuda_compat(const ContainerRoot& root, const HookOptions& options) {
    return runtime::enable_cuda_compat(root, one_of(options, "host-driver-version", ""));
}

Result<void> update_ldcache(const ContainerRoot& root, const HookOptions& options) {
    auto written = runtime::write_search_path(root, all_of(options, "folder"));
    if (!written && written.error().code != Errc::Refused)
        return written;
    // Run ldconfig even if the files of the search path are mounted and were therefore not written: the
    // mounted files may name the folders already.
    GPUHOST_CHECK(runtime::run_ldconfig(root, one_of(options, "ldconfig-path", ldconfig_of_host())));
    return written;
}

Result<void> disable_device_node_modification(const ContainerRoot& root, const HookOptions&) {
    return runtime::disable_device_node_modification(root);
}

struct Hook {
    std::string_view name;
    std::array<std::string_view, 2> options;
    bool mounts; ///< true if the hook mounts, which needs more privileges than writing files
    Result<void> (*run)(const ContainerRoot&, const HookOptions&);
};

constexpr std::array hooks{
    Hook{"create-symlinks", {"link"}, false, create_symlinks},
    Hook{"enable-cuda-compat", {"host-driver-version"}, false, enable_cuda_compat},
    Hook{"update-ldcache", {"folder", "ldconfig-path"}, true, update_ldcache},
    Hook{"disable-device-node-modification", {}, true, disable_device_node_modification},
};

/// Closes inherited descriptors and limits time and memory. The process is not dumpable, because processes of
/// the container may be able to see it.
void shut_off() {
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0U);
    ::umask(022);
    sigset_t none;
    sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)std::signal(SIGCHLD, SIG_DFL);
    (void)std::signal(SIGALRM, [](int) { give_up<out_of_time>(); });
    ::alarm(deadline_s);
    std::set_new_handler(give_up<out_of_memory>);
#if !defined(__SANITIZE_ADDRESS__) && !GPUHOST_HAS_FEATURE(address_sanitizer) // its shadow memory would count
    (void)runtime::limit(RLIMIT_DATA, runtime::max_memory);
#endif
}

Result<void> run(const std::vector<std::string>& words) {
    const auto hook = std::find_if(hooks.begin(), hooks.end(), [&](const Hook& one) {
        return !words.empty() && one.name == words.front();
    });
    if (hook == hooks.end())
        return base::fail(Errc::InvalidArgument,
                          words.empty() ? "no hook given" : "unknown hook '" + words.front() + "'",
                          "See --help.");
    GPUHOST_TRY(options, runtime::parse_hook_options(std::span(words).subspan(1), hook->options));
    GPUHOST_TRY(state, base::read_all(STDIN_FILENO, runtime::max_state, "the container's state"));
    GPUHOST_TRY(of_state, runtime::container_root(state));
    GPUHOST_TRY(root, ContainerRoot::open(of_state.path, of_state.read_only));
    if (!hook->mounts)
        GPUHOST_CHECK(runtime::keep_only_file_access());
    return hook->run(root, options);
}

bool asks_for(int argc, char* argv[], std::initializer_list<std::string_view> words) {
    return std::any_of(argv + 1, argv + argc, [&](std::string_view word) {
        return std::find(words.begin(), words.end(), word) != words.end();
    });
}

} // namespace

int main(int argc, char* argv[]) {
    if (asks_for(argc, argv, {"--help", "-h"}))
        return std::fputs(usage, stdout) < 0 ? 1 : 0;
    if (asks_for(argc, argv, {"--version"}))
        return std::puts("gpuhost-cdi-hook " PACKAGE_VERSION) < 0 ? 1 : 0;
    shut_off();
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const auto done = run(words);
    if (done)
        return 0;
    const bool ignored = done.error().code == Errc::Refused;
    std::fprintf(stderr, "gpuhost-cdi-hook: %s: %s%s\n", words.empty() ? "" : words.front().c_str(),
                 done.error().message.c_str(), ignored ? ", ignoring" : "");
    if (!done.error().hint.empty())
        std::fprintf(stderr, "%s\n", done.error().hint.c_str());
    return ignored ? 0 : base::info(done.error().code).exit_code;
}
