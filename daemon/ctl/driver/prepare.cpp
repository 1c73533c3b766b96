// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/core/settings.hpp"
#include "daemon/ctl/cli/deadline.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "kmod/driver_settings.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr Option hook_option{"hook", "",
                             "for the scripts of packages; the exit status is 0 unless NewKernel=require"};
constexpr std::array options{hook_option, option::timeout};

/// The longest time for the hook, because the package manager holds its lock meanwhile. A build takes
/// minutes, and gpuhostd ends a build that hangs.
constexpr std::chrono::minutes hook_patience{30};

client::Request selecting(const std::string& kernel) {
    return client::request_of(
        client::driver_call("Select", {std::string(), std::vector<std::string>{kernel}}));
}

bool has_problem(const Json& plan, Errc code) {
    const Json& problems = list_of(plan, "problems");
    return std::any_of(problems.begin(), problems.end(), [&](const Json& problem) {
        return text_of(problem, "code") == base::info(code).name;
    });
}

/// Builds modules for the kernel if there are none, then selects the driver for it.
Result<int> prepare(Session& session, client::Client& client, const std::string& kernel,
                    const Deadline& deadline) {
    const client::Request select = selecting(kernel);
    GPUHOST_TRY(plan, client.ask(select.plan));
    if (has_problem(plan, Errc::Unsupported)) {
        const client::Call build =
            client::driver_call("Build", {std::string(), std::vector<std::string>{kernel}});
        GPUHOST_TRY(built, run_operation(session, client::request_of(build), deadline));
        if (built != 0)
            return built;
    } else if (list_of(plan, "steps").empty() && list_of(plan, "problems").empty()) {
        for (const std::string& reason : base::strings_or_empty(plan, "reasons"))
            session.note(printable(reason) + "\n");
        return 0;
    }
    return run_operation(session, select, deadline);
}

Result<Json> observed_driver(client::Client& client) {
    GPUHOST_TRY(host, client.describe_host());
    return base::member(base::member(base::member(host, "components"), "driver"), "observed");
}

/// Returns the kernels that the command line names, or else all installed kernels except the running one.
Result<std::vector<std::string>> kernels_to_prepare(Session& session, client::Client& client) {
    if (!session.arguments().words().empty())
        return session.arguments().words();
    GPUHOST_TRY(driver, observed_driver(client));
    std::vector<std::string> kernels;
    for (const Json& kernel : list_of(driver, "kernels"))
        if (const std::string release = text_of(kernel, "release"); release != text_of(driver, "kernel"))
            kernels.push_back(release);
    return kernels;
}

Result<int> prepare_all(Session& session, const Deadline& deadline) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(kernels, kernels_to_prepare(session, *client));
    GPUHOST_CHECK(client->subscribe());
    int worst = 0;
    for (const std::string& kernel : kernels) {
        const auto status = prepare(session, *client, kernel, deadline);
        if (!status)
            session.complain(status.error().context("kernel " + kernel));
        worst = std::max(worst, status ? *status : base::info(status.error().code).exit_code);
    }
    return worst;
}

/// Returns true if gpuhostd's driver could be prepared for the kernel, or if this is not known.
bool concerns(client::Client& client, const std::string& kernel) {
    const auto plan = client.ask(selecting(kernel).plan);
    return !plan || (!has_problem(*plan, Errc::Refused) && !has_problem(*plan, Errc::InvalidArgument));
}

/// Waits for builds and selections, which may come from the hook of another package. Does not wait for other
/// operations: they may take any time, and a package installation must not take long.
void wait_for_others(Session& session, client::Client& client, const Deadline& deadline) {
    const auto operations = client.list_operations();
    if (operations && client.subscribe())
        for (const client::OperationRow& operation : *operations)
            if (operation.ended_us == 0 &&
                (operation.kind == "driver.build" || operation.kind == "driver.select"))
                (void)follow_operation(session, operation.id, deadline);
}

/// Returns NewKernel= from the configuration files, for a gpuhostd that does not report it.
std::string configured_new_kernel() {
    const auto root = base::Root::open("/");
    return root ? core::load_settings(*root, {kmod::driver_setting_keys()})
                      .settings.string("Driver", "NewKernel")
                : std::string();
}

int unprepared(const Session& session, std::string_view new_kernel) {
    session.warn("gpuhostd: the new kernel would boot without an NVIDIA driver. Solve the problems above, "
                 "then run: gpuhostctl driver prepare\n");
    return new_kernel == "require" ? base::info(Errc::Refused).exit_code : 0;
}

/// Prepares the driver while a kernel package is installed. A missing driver must not fail that installation,
/// unless an administrator requires it.
Result<int> run_hook(Session& session, const Deadline& deadline) {
    const auto client = session.client();
    const auto runs = client ? (*client)->running() : Result<bool>(false);
    if (runs && !*runs) { // for example while an image is built
        session.note("gpuhostd is not running: it prepares the driver when the new kernel boots.\n");
        return 0;
    }
    const auto driver = runs ? observed_driver(**client) : Result<Json>(base::fail(runs.error()));
    if (!driver || driver->is_null()) {
        const std::string new_kernel = configured_new_kernel();
        if (new_kernel == "ignore")
            return 0;
        session.complain(driver ? base::Error{Errc::Busy, "gpuhostd has not observed the driver yet", {}}
                                : driver.error());
        return unprepared(session, new_kernel);
    }
    const std::string new_kernel = text_of(*driver, "new_kernel");
    const std::vector<std::string>& kernels = session.arguments().words();
    if (new_kernel == "ignore" ||
        std::none_of(kernels.begin(), kernels.end(),
                     [&](const std::string& kernel) { return concerns(**client, kernel); }))
        return 0;
    wait_for_others(session, **client, deadline);
    const auto status = prepare_all(session, deadline);
    if (!status)
        session.complain(status.error());
    return status && *status == 0 ? 0 : unprepared(session, new_kernel);
}

Result<int> run(Session& session) {
    GPUHOST_TRY(deadline, deadline_of(session.arguments()));
    if (!session.arguments().has(hook_option))
        return prepare_all(session, deadline);
    if (!deadline)
        deadline = std::chrono::steady_clock::now() + hook_patience;
    return run_hook(session, deadline);
}

constexpr std::array examples{
    Example{"driver prepare", "build and select modules for all other installed kernels"},
    Example{"driver prepare 6.1.0-51-amd64", "do so for one kernel"}};

} // namespace

const Verb driver_prepare_verb{
    "driver prepare",
    "[KERNEL…]",
    "prepare installed kernels for their first boot",
    "Prepares installed kernels other than the running one, or the named kernels, for their first boot. "
    "Builds modules of the version in use if the store has none and the kernel's headers are installed, and "
    "selects them. The packages of kernels and of their headers run it with --hook when they are installed.",
    0,
    100,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
