// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/packed_files.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "daemon/ctl/driver/view_installed.hpp"
#include "kmod/module/kernel_state.hpp"

#include <array>
#include <filesystem>
#include <set>

#include <fcntl.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr Option dry_run_option{"dry-run", "",
                                "only list the driver's files, their owners, and what may disturb it"};
constexpr Option files_option{
    "files", "", "only print the paths of the driver's files and of the links to them, one a line"};
constexpr std::array options{dry_run_option, files_option, root_option, option::no_wait, option::json};

Json to_json(const kmod::InstalledDriver& driver, const Owners& owners) {
    Json document = kmod::to_json(driver);
    document["owners"] = {
        {"manager", owners.manager}, {"packages", owners.packages}, {"unowned", owners.unowned}};
    return document;
}

/// Packs the files of an installed driver, each under its own path. gpuhostd imports the archive like a
/// package.
Result<client::InputFile> pack(const base::Root& root, const kmod::InstalledDriver& driver,
                               const Owners& owners) {
    const std::string name = "installed-" + driver.version;
    GPUHOST_TRY(packed, PackedFiles::create(name));
    GPUHOST_CHECK(packed.add_text("usr/src/" + name + "/origin",
                                  base::join({owners.packages.begin(), owners.packages.end()}, "\n") + "\n"));
    for (const std::string& path : driver.files())
        GPUHOST_CHECK(packed.add_file(root, path, path.substr(1)));
    return packed.finish();
}

Result<int> adopt(Session& session, const base::Root& root, const kmod::InstalledDriver& driver,
                  const Owners& owners) {
    if (driver.modules.empty())
        return base::fail(Errc::NotFound,
                          "driver " + driver.version + " has no modules for kernel " + driver.kernel,
                          "Boot the kernel that it is installed for, or import its packages.");
    std::vector<client::InputFile> files;
    GPUHOST_TRY(packed, pack(root, driver, owners));
    files.push_back(std::move(packed));
    const client::Call import = client::driver_call("Import", {std::span<const client::InputFile>(files)});
    GPUHOST_TRY(status, run_operation(session, client::request_of(import)));
    if (status == 0 && !session.wants_json())
        session.page(render_takeover(session.out(), driver, owners, root, true));
    return status;
}

/// Returns the paths of the files to remove, with links below `root` resolved: the user removes exactly what
/// is printed.
Result<std::set<std::string>> names_to_remove(const base::Root& root, const kmod::InstalledDriver& driver) {
    std::set<std::string> names;
    for (const std::string& path : kmod::files_to_remove(root, driver)) {
        const std::size_t slash = path.rfind('/');
        if (printable(path) != path)
            return base::fail(Errc::BadContent,
                              "'" + printable(path) + "' has characters that cannot be printed",
                              "Remove this file by hand first.");
        GPUHOST_TRY(directory, root.open_file(path.substr(0, slash), O_PATH | O_DIRECTORY));
        std::error_code error;
        const auto real =
            std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(directory.get()), error);
        if (error)
            return base::fail_errno(path, error.value());
        names.insert(real.string() + path.substr(slash));
    }
    return names;
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    if (given.has(files_option) && session.wants_json())
        return base::fail(Errc::InvalidArgument, "--files and --json cannot be used together",
                          "Leave out one of them.");
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(kernel, kmod::kernel_release(root));
    GPUHOST_TRY(driver, kmod::find_installed_driver(root, kernel));
    if (!driver)
        return base::fail(Errc::NotFound, "no installed driver found other than gpuhostd's",
                          "List those in the store: gpuhostctl driver list.");
    if (given.has(files_option)) {
        GPUHOST_TRY(names, names_to_remove(root, *driver));
        session.print(base::join({names.begin(), names.end()}, "\n") + "\n");
        return 0;
    }
    GPUHOST_TRY(owners, owners_of(root, driver->traces()));
    if (!given.has(dry_run_option))
        return adopt(session, root, *driver, owners);
    if (session.wants_json())
        session.print_json(to_json(*driver, owners));
    else
        session.page(render_installed(session.out(), *driver, owners) +
                     render_takeover(session.out(), *driver, owners, root, false));
    return 0;
}

constexpr std::array examples{
    Example{"driver adopt --dry-run", "show the installed driver's files and who owns them"},
    Example{"driver adopt", "copy it into the store"}};

} // namespace

const Verb driver_adopt_verb{
    "driver adopt",
    "",
    "copy an installed driver into the store",
    "Copies a driver that was installed by packages, DKMS or NVIDIA's installer into the store, as a version "
    "to run and to roll back to. Changes nothing that runs and removes nothing. Prints how gpuhostd takes "
    "the driver over, with each package by name. With --dry-run it copies nothing, and lists the driver's "
    "files, their owners, and what may disturb the driver while it runs. With --files it copies nothing "
    "either, and prints the paths of the driver's files and of the links to them. Remove these by hand if no "
    "package or uninstaller does.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
