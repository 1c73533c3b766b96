// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/bundle_call.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/host/apply.hpp"
#include "daemon/ctl/upgrade/options.hpp"
#include "daemon/ctl/upgrade/upgrade.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

bool has_problem(const Json& plan, base::Errc code) {
    const Json& problems = list_of(plan, "problems");
    return std::any_of(problems.begin(), problems.end(), [&](const Json& problem) {
        return text_of(problem, "code") == base::info(code).name;
    });
}

} // namespace

client::Request Upgrade::bundle_request(const std::vector<client::InputFile>& files) const {
    client::Options options;
    if (session_.arguments().has(allow_downgrade_option))
        options["allow-downgrade"] = true;
    return client::request_of(client::bundle_call("Import", {files}), options);
}

client::Request Upgrade::build_request() const {
    return client::request_of(client::driver_call("Build", {*version_, std::vector<std::string>()}));
}

client::Request Upgrade::swap_request() const {
    return client::request_of(client::driver_call("Swap", {*version_}), holders_);
}

client::Request Upgrade::rest_request() const {
    const bool leaves_driver = !offer_.driver.empty() || is_swap_left_;
    return apply_request(leaves_driver ? client::Options{{"only", offer_.rest}} : client::Options{});
}

/// Returns true if the plan has nothing to do.
Result<bool> Upgrade::is_idle(const client::Request& request) {
    GPUHOST_TRY(plan, client_.ask(request.plan));
    return list_of(plan, "steps").empty() && list_of(plan, "problems").empty();
}

/// Returns the request of a part after the import; nothing if the part has nothing to do.
Result<std::optional<client::Request>> Upgrade::request_of(Part part) {
    const std::optional<client::Request> none;
    if (!concerns(part))
        return none;
    if (part == Part::Build) {
        GPUHOST_TRY(loaded, is_idle(swap_request()));
        GPUHOST_TRY(needed, needs_build());
        return loaded || !needed ? none : build_request();
    }
    client::Request request = part == Part::Swap ? swap_request() : rest_request();
    GPUHOST_TRY(idle, is_idle(request));
    return idle ? none : std::optional(std::move(request));
}

/// Returns true if the part is a swap that gpuhost-cluster does later. A swap with problems is not left to
/// it, so that they are shown.
Result<bool> Upgrade::leave_swap(Part part, const client::Request& request) {
    if (part != Part::Swap || offer_.scheduled.empty())
        return false;
    GPUHOST_TRY(plan, client_.ask(request.plan));
    is_swap_left_ = list_of(plan, "problems").empty();
    return is_swap_left_;
}

/// Returns true if the running kernel lacks modules of the version, or signatures that SigningKey= requires.
Result<bool> Upgrade::needs_build() {
    GPUHOST_TRY(build, client_.ask(build_request().plan));
    if (list_of(build, "problems").empty())
        return !list_of(build, "steps").empty();
    GPUHOST_TRY(swap, client_.ask(swap_request().plan));
    return has_problem(swap, base::Errc::Unsupported);
}

Result<ChoiceFacts> Upgrade::choice_facts() {
    GPUHOST_TRY(host, client_.describe_host());
    GPUHOST_TRY(list, client_.ask(client::driver_call("List")));
    GPUHOST_TRY(offer, cluster_offer(client_, {}));
    offer_ = std::move(offer);
    ChoiceFacts facts;
    facts.named = input_.version;
    facts.has_input = input_.kind != UpgradeInput::Kind::None;
    facts.brought = brought_;
    facts.configured = text_of(
        base::member(base::member(base::member(host, "components"), "driver"), "observed"), "configured");
    for (const Json& version : list_of(list, "versions"))
        facts.store.push_back(text_of(version, "version"));
    facts.offered = offer_.driver.empty() ? offer_.scheduled : offer_.driver;
    facts.arguments = arguments_text(!imported_);
    return facts;
}

std::string Upgrade::arguments_text(bool with_input) const {
    const Arguments& given = session_.arguments();
    std::string text;
    for (const std::string& path : with_input ? input_.paths : std::vector<std::string>())
        text += " " + shell_quoted(path);
    for (const Option* const option : {&peer_option, &fetch_socket_option, &allow_downgrade_option})
        if (with_input && given.has(*option))
            text += " --" + std::string(option->name) +
                    (option->argument.empty() ? "" : "=" + shell_quoted(*given.value(*option)));
    for (const Option* const option : {&option::holders, &option::holder_timeout})
        if (given.has(*option))
            text += " --" + std::string(option->name) + "=" + shell_quoted(*given.value(*option));
    return text;
}

} // namespace gpuhost::ctl
