// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/index.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "kmod/module/file.hpp"
#include "kmod/module/kernel_state.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Result;
using base::Root;

constexpr std::size_t index_limit = 64U << 20;
constexpr std::string_view updates = "updates";
constexpr std::string_view ours = "gpuhost";

/// Returns the directory below `scratch` for the index. Some versions of depmod search in usr/lib, others in
/// lib. In `scratch`, lib is a link to usr/lib.
std::string scratch_modules(const std::string& scratch, std::string_view kernel) {
    return scratch + "/usr/lib/modules/" + std::string(kernel);
}

/// Returns the path of the file that records the installed_state() at the time when the index in `scratch`
/// was built.
std::string built_beside(const std::string& scratch) {
    return scratch + "/built-beside";
}

/// Returns a text that identifies the installed index. It changes with each run of depmod, which replaces
/// modules.dep.
std::string installed_state(const Root& root, std::string_view kernel) {
    const auto st = root.stat("/lib/modules/" + std::string(kernel) + "/modules.dep");
    if (!st)
        return "none";
    return std::to_string(st->st_ino) + " " + std::to_string(st->st_ctim.tv_sec) + "." +
           std::to_string(st->st_ctim.tv_nsec);
}

/// Returns whether an entry of /lib/modules/<kernel> gets a link in the scratch directory, as input for
/// depmod. Excluded are the files that depmod writes (all modules.* except three). Also excluded are build
/// and source, which depmod ignores, and updates, which lay_out() creates itself.
bool belongs_in_scratch(const std::string& name) {
    static constexpr std::array<std::string_view, 3> inputs{"modules.order", "modules.builtin",
                                                            "modules.builtin.modinfo"};
    if (base::starts_with(name, "modules."))
        return std::find(inputs.begin(), inputs.end(), name) != inputs.end();
    return name != "build" && name != "source" && name != updates;
}

/// Returns the path of the depmod in a mounted system, to be run there by chroot(8). It then uses that
/// system's configuration and absolute links. Returns an empty path if the host's depmod is run instead:
/// `root` is the host's own root, chroot(2) is not permitted, or the mounted system has no depmod.
std::string depmod_inside(const Root& root) {
    if (root.is_host() || ::geteuid() != 0)
        return {};
    for (const char* path : {"/sbin/depmod", "/usr/sbin/depmod"})
        if (root.stat(path))
            return path;
    return {};
}

/// Returns the path as depmod must get it: inside the chroot, or on the host.
std::string seen_path(const Root& root, const std::string& path) {
    return depmod_inside(root).empty() ? root.host_path(path) : path;
}

/// Creates links in `to` to those entries of `from` for which `wanted` returns true.
Result<void> link_entries(const Root& root, const std::string& from, const std::string& to,
                          bool (*wanted)(const std::string&)) {
    for (const std::string& name : root.list(from).value_or(std::vector<std::string>()))
        if (wanted(name))
            GPUHOST_CHECK(root.symlink_atomic(seen_path(root, from + "/" + name), to + "/" + name));
    return {};
}

/// Creates the directory from which depmod builds the index: links to the kernel's modules, and
/// updates/gpuhost as a link to `modules`.
Result<void> lay_out(const Root& root, std::string_view kernel, const std::string& modules,
                     const std::string& scratch) {
    const std::string installed = "/lib/modules/" + std::string(kernel);
    const std::string directory = scratch_modules(scratch, kernel);
    GPUHOST_CHECK(root.remove_tree(scratch));
    GPUHOST_CHECK(root.make_directories(directory + "/updates"));
    GPUHOST_CHECK(root.symlink_atomic("usr/lib", scratch + "/lib"));
    GPUHOST_CHECK(link_entries(root, installed, directory, belongs_in_scratch));
    GPUHOST_CHECK(link_entries(root, installed + "/updates", directory + "/updates",
                               [](const std::string& name) { return name != ours; }));
    if (modules.empty())
        return {};
    return root.symlink_atomic(seen_path(root, modules), directory + "/updates/" + std::string(ours));
}

/// Returns the installed index files that differ from those in `scratch`: path → new content.
Result<std::map<std::string, std::string>> changed_files(const Root& root, std::string_view kernel,
                                                         const std::string& scratch) {
    const std::string from = scratch_modules(scratch, kernel) + "/";
    const std::string to = "/lib/modules/" + std::string(kernel) + "/";
    std::map<std::string, std::string> changed;
    GPUHOST_TRY(names, root.list(from));
    for (const std::string& name : names) {
        if (!base::starts_with(name, "modules.") || belongs_in_scratch(name))
            continue;
        GPUHOST_TRY(content, root.read(from + name, index_limit));
        const auto installed = root.read(to + name, index_limit);
        if (!installed || *installed != content)
            changed.emplace(to + name, std::move(content));
    }
    return changed;
}

/// Syncs the index in `scratch` to the disk, because depmod does not. An undo after a power cut may install
/// this index.
Result<void> sync_index(const Root& root, std::string_view kernel, const std::string& scratch) {
    std::string directory = scratch_modules(scratch, kernel);
    GPUHOST_TRY(names, root.list(directory));
    for (const std::string& name : names) {
        if (!base::starts_with(name, "modules.") || belongs_in_scratch(name))
            continue;
        const std::string path = directory + "/" + name;
        GPUHOST_TRY(fd, root.open_file(path, O_RDONLY | O_NOFOLLOW));
        if (::fsync(fd.get()) < 0)
            return base::fail_errno(path, errno);
    }
    for (; directory.size() > scratch.size(); directory.resize(directory.rfind('/')))
        GPUHOST_CHECK(root.sync_directory(directory));
    return {};
}

std::vector<std::string> module_files(const Root& root, const std::string& directory) {
    std::vector<std::string> names = root.list(directory).value_or(std::vector<std::string>());
    names.erase(std::remove_if(names.begin(), names.end(),
                               [](const std::string& name) { return !base::is_module_file(name); }),
                names.end());
    return names;
}

/// Adds all module files below `directory`, at most `depth` directories deep. The limit ends loops of links.
void add_module_files(const Root& root, const std::string& directory, unsigned depth,
                      std::vector<std::string>& paths) {
    for (const std::string& name : module_files(root, directory))
        paths.push_back(directory + "/" + name);
    for (const std::string& name : root.list(directory).value_or(std::vector<std::string>()))
        if (const auto st = root.stat(directory + "/" + name); depth > 0 && st && S_ISDIR(st->st_mode))
            add_module_files(root, directory + "/" + name, depth - 1, paths);
}

} // namespace

Result<void> build_index(const Root& root, std::string_view kernel, const std::string& modules,
                         const std::string& scratch) {
    const std::string beside = installed_state(root, kernel);
    GPUHOST_CHECK(lay_out(root, kernel, modules, scratch));
    base::Command command;
    command.argv = {"depmod", "-b", seen_path(root, scratch), std::string(kernel)};
    if (const std::string inside = depmod_inside(root); !inside.empty()) {
        command.argv.front() = inside;
        command.argv.insert(command.argv.begin(), {"chroot", root.directory()});
    }
    command.deadline = std::chrono::minutes(5);
    GPUHOST_TRY(finished, base::run(command));
    if (finished.timed_out)
        return base::fail(base::Errc::Timeout, "depmod for " + std::string(kernel) + ": timed out");
    if (finished.exit_status != 0)
        return base::fail(base::Errc::Failed, "depmod for " + std::string(kernel) + ": " + finished.output);
    GPUHOST_CHECK(sync_index(root, kernel, scratch));
    // This file marks the index as complete. index_is_current() compares its content.
    return root.write_atomic(built_beside(scratch), beside);
}

Result<void> check_index(const Root& root, std::string_view kernel, const std::string& modules,
                         const std::string& scratch) {
    GPUHOST_TRY(text, root.read(scratch_modules(scratch, kernel) + "/modules.dep", index_limit));
    const std::vector<std::string> indexed = indexed_modules(text);
    for (const std::string& name : module_files(root, modules)) {
        const std::string wanted = std::string(updates) + "/" + std::string(ours) + "/" + name;
        if (std::find(indexed.begin(), indexed.end(), wanted) != indexed.end())
            continue;
        const auto other = std::find_if(indexed.begin(), indexed.end(), [&](const std::string& path) {
            return module_name(path) == module_name(name);
        });
        return base::fail(
            base::Errc::AlreadyExists,
            "modprobe would load '" + (other != indexed.end() ? *other : "nothing") + "' instead of '" +
                wanted + "'",
            "Remove the package or file that installed it, and the entries for it in depmod.d.");
    }
    return {};
}

std::vector<std::string> rivals(const Root& root, std::string_view kernel, const std::string& modules) {
    const std::string directory = "/lib/modules/" + std::string(kernel) + "/" + std::string(updates);
    const std::string own = directory + "/" + std::string(ours) + "/";
    const std::vector<std::string> names = module_files(root, modules);
    std::vector<std::string> found;
    constexpr unsigned depth = 8;
    add_module_files(root, directory, depth, found);
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](const std::string& path) {
                                   return base::starts_with(path, own) ||
                                          std::none_of(names.begin(), names.end(), [&](const auto& name) {
                                              return module_name(name) == module_name(path);
                                          });
                               }),
                found.end());
    return found;
}

bool index_is_current(const Root& root, std::string_view kernel, const std::string& scratch) {
    const auto beside = root.read(built_beside(scratch));
    return beside && *beside == installed_state(root, kernel);
}

bool index_is_installed(const Root& root, std::string_view kernel, const std::string& scratch) {
    const auto changed = changed_files(root, kernel, scratch);
    return changed && changed->empty();
}

Result<void> install_index(const Root& root, std::string_view kernel, const std::string& scratch) {
    GPUHOST_TRY(changed, changed_files(root, kernel, scratch));
    for (const auto& [path, content] : changed)
        GPUHOST_CHECK(root.write_atomic(path, content));
    return {};
}

Result<void> keep_index_current(const Root& root, std::string_view kernel, const std::string& scratch) {
    return root.write_atomic(built_beside(scratch), installed_state(root, kernel));
}

} // namespace gpuhost::kmod
