// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cdi/verbs.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/runtime/cdi/modes.hpp"
#include "daemon/runtime/cdi/spec_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <sys/stat.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr Option mode_option{
    "mode", "gpu|management|imex|gds|gdrcopy|mofed|nvswitch",
    "for programs that compute, for programs that manage GPUs, or for other devices"};
constexpr Option file_option{"output", "PATH", "the file to write instead of stdout", false, false, 'o'};
constexpr Option driver_option{"driver-root", "DIRECTORY",
                               "use the driver that is installed below DIRECTORY"};
constexpr Option device_option{"dev-root", "DIRECTORY", "use the device nodes in DIRECTORY/dev"};
constexpr Option groups_option{"without-groups", "",
                               "leave out the groups of restricted nodes, which CDI 0.7.0 added"};
constexpr std::array options{mode_option,   file_option,   driver_option,
                             device_option, groups_option, root_option};

Result<std::optional<std::string>> chosen_directory(const Arguments& given, const Option& option) {
    const auto path = given.value(option);
    if (path && (path->empty() || path->front() != '/'))
        return base::fail(Errc::InvalidArgument, "--" + std::string(option.name) + " is not an absolute path",
                          "Write the path by which the host's runtimes find the files.");
    return path;
}

Result<runtime::MadeSpec> make_spec(const base::Root& root, const Arguments& given) {
    const std::string mode = given.value(mode_option).value_or("gpu");
    GPUHOST_TRY(driver, chosen_directory(given, driver_option));
    GPUHOST_TRY(devices, chosen_directory(given, device_option));
    const runtime::CdiSources sources{driver, devices.value_or(driver.value_or("")),
                                      !given.has(groups_option)};
    const auto modes = runtime::cdi_modes();
    const auto found =
        std::find_if(modes.begin(), modes.end(), [&](const auto& one) { return one.name == mode; });
    return found->make(root, sources);
}

/// Warns if another file of the same directory has a device of the same name: then no container gets the
/// device.
void warn_of_conflict(const Session& session, const base::Root& root, const std::string& path) {
    const auto files = runtime::read_spec_files(root);
    const auto claims = runtime::device_claims(files);
    const auto claim = std::find_if(claims.begin(), claims.end(), [&](const runtime::DeviceClaim& one) {
        std::error_code error;
        return one.state == runtime::DeviceClaim::State::Conflict &&
               std::filesystem::equivalent(root.host_path(one.file->path), path, error);
    });
    if (claim != claims.end())
        session.warn("Warning: " + printable(claim->other->path) + " has " + printable(claim->name) +
                     " too, so no container gets it. Keep one of the two files.\n");
}

/// Returns the number of GPUs that can be requested only by index.
std::size_t unnamed_gpus(const runtime::Spec& spec) {
    const auto count = [&](const auto& is_it) {
        return static_cast<std::size_t>(std::count_if(spec.devices.begin(), spec.devices.end(),
                                                      [&](const auto& one) { return is_it(one.name); }));
    };
    return count([](const std::string& name) { return base::parse_uint(name).has_value(); }) -
           count([](const std::string& name) { return base::starts_with(name, "GPU-"); });
}

/// Warns about problems of the host that make a correct specification useless.
void warn_of_host(const Session& session, const base::Root& root, const runtime::MadeSpec& made,
                  const std::string& text) {
    for (const std::string& problem : made.problems)
        session.warn("Warning: " + printable(problem) + ".\n");
    for (const std::string& stale : runtime::check_spec_file(root, "new.json", text).stale)
        session.warn("Warning: " + printable(stale) + ".\n");
    if (const auto unnamed = made.spec.kind == "nvidia.com/gpu" ? unnamed_gpus(made.spec) : 0)
        session.warn("Warning: the driver does not have the UUID yet of " + plural(unnamed, "GPU", "GPUs") +
                     ", so containers can ask for them by index only. Use each once, for example with "
                     "nvidia-smi, and run this again.\n");
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    const std::string path = given.value(file_option).value_or("-");
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(made, make_spec(root, given));
    const runtime::Spec& spec = made.spec;
    const std::string text = runtime::to_text(spec);
    warn_of_host(session, root, made, text);
    if (path == "-") {
        session.print(text);
        return 0;
    }
    (void)::umask(022);                                // readable by runtimes of every user
    GPUHOST_CHECK(make_directory(directory_of(path))); // a new host has no /etc/cdi
    GPUHOST_TRY(file, OutputFile::create(path));
    GPUHOST_CHECK(base::write_all(file.fd(), text, path));
    GPUHOST_CHECK(file.finish());
    session.note(
        "Wrote " + plural(spec.devices.size(), "device", "devices") + " of " + spec.kind + " to " + path +
        ".\n" +
        (runtime::is_spec_file(path) ? "" : "Runtimes read only files that end in .json or .yaml.\n"));
    warn_of_conflict(session, root, path);
    return 0;
}

constexpr std::array examples{Example{"cdi generate", "print the specification of this host's GPUs"},
                              Example{"cdi generate -o /etc/cdi/nvidia.json", "write it to a file"}};

} // namespace

const Verb cdi_generate_verb{
    "cdi generate",
    "",
    "write a CDI specification, by which containers get GPUs",
    "Writes a specification of the Container Device Interface in JSON: the driver's device nodes, libraries, "
    "programs, firmware and sockets, and the hooks that make a container find them. Its devices are "
    "nvidia.com/gpu by index and by UUID, and 'all'. The driver is the selected one, else the installed one. "
    "The file is not updated automatically: run this again after each swap of the driver and each boot. "
    "Needs no daemon, no privileges, and NVML only for the names of MIG's instances.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
