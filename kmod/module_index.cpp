// SPDX-License-Identifier: Apache-2.0
#include "kmod/module_index.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace gpuhost::kmod {
namespace {

using base::Result;
using base::Root;

constexpr std::size_t index_limit = 64U << 20;
constexpr std::string_view updates = "updates";
constexpr std::string_view ours = "gpuhost";

/// Some depmods look below /usr/lib, some below /lib.
std::string scratch_modules(const std::string& scratch, std::string_view kernel) {
    return scratch + "/usr/lib/modules/" + std::string(kernel);
}

/// depmod reads these; all others named modules.* it writes. build and source are not for it.
bool belongs_in_scratch(const std::string& name) {
    static constexpr std::array<std::string_view, 3> inputs{"modules.order", "modules.builtin",
                                                            "modules.builtin.modinfo"};
    if (base::starts_with(name, "modules."))
        return std::find(inputs.begin(), inputs.end(), name) != inputs.end();
    return name != "build" && name != "source" && name != updates;
}

/// Links to what is in `from`, by paths that hold outside of the root, for depmod.
Result<void> link_entries(const Root& root, const std::string& from, const std::string& to,
                          bool (*wanted)(const std::string&)) {
    for (const std::string& name : root.list(from).value_or(std::vector<std::string>()))
        if (wanted(name))
            GPUHOST_CHECK(root.symlink_atomic(root.host_path(from + "/" + name), to + "/" + name));
    return {};
}

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
    return root.symlink_atomic(root.host_path(modules), directory + "/updates/" + std::string(ours));
}

/// Installed paths with what they should hold and do not.
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

} // namespace

Result<void> build_index(const Root& root, std::string_view kernel, const std::string& modules,
                         const std::string& scratch) {
    GPUHOST_CHECK(lay_out(root, kernel, modules, scratch));
    base::Command command;
    command.argv = {"depmod", "-b", root.host_path(scratch), std::string(kernel)};
    command.deadline = std::chrono::minutes(5);
    GPUHOST_TRY(finished, base::run(command));
    if (finished.exit_status == 0 && !finished.timed_out)
        return {};
    return base::fail(base::Errc::Failed, "depmod for " + std::string(kernel) + ": " +
                                              (finished.timed_out ? "takes too long" : finished.output));
}

bool is_installed(const Root& root, std::string_view kernel, const std::string& scratch) {
    const auto changed = changed_files(root, kernel, scratch);
    return changed && changed->empty();
}

Result<void> install_index(const Root& root, std::string_view kernel, const std::string& scratch) {
    GPUHOST_TRY(changed, changed_files(root, kernel, scratch));
    for (const auto& [path, content] : changed)
        GPUHOST_CHECK(root.write_atomic(path, content));
    return {};
}

} // namespace gpuhost::kmod
