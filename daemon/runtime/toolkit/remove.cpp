// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/set/removal.hpp"
#include "daemon/runtime/toolkit/steps.hpp"
#include "daemon/runtime/toolkit/store.hpp"
#include "daemon/runtime/toolkit/use.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

namespace {

Result<std::string> place_of(const Json& args) {
    GPUHOST_TRY(version, base::get_string(args, "version"));
    if (!base::is_toolkit_version(version))
        return base::fail(Errc::InvalidArgument, "'" + version + "' is not a version of the toolkit");
    return std::move(version);
}

Result<std::vector<Problem>> check(const StepContext& context, const Json& args, const std::string& path) {
    const std::string version = base::string_or(args, "version", {});
    std::vector<Problem> problems;
    if (!context.root.exists(path)) {
        problems.push_back({Errc::NotFound, "toolkit " + version + " is not in the store",
                            "List the toolkits with 'gpuhostctl toolkit list'."});
        return problems;
    }
    if (base::starts_with(current_toolkit(context.root), path + "/"))
        problems.push_back({Errc::InUse, "toolkit " + version + " is selected",
                            "Select another one or none with [Toolkit] Version= in gpuhostd.conf, then run "
                            "'gpuhostctl apply'."});
    GPUHOST_TRY(users, toolkit_users(context.root, path));
    for (const std::string& user : users)
        problems.push_back(
            {Errc::InUse, "toolkit " + version + " is in use: " + user, "Remove it when that has ended."});
    return problems;
}

Result<void> before_purge(const StepContext& context, const Json& args) {
    context.progress(-1, "deleting toolkit " + base::string_or(args, "version", {}));
    return {};
}

content::Removing removing() {
    return {toolkit_directory, place_of, check, before_purge};
}

} // namespace

core::StepCode toolkit_remove_code() {
    return content::remove_code("toolkit.remove", removing());
}

core::StepCode toolkit_purge_code() {
    return content::purge_code("toolkit.purge", removing());
}

} // namespace gpuhost::runtime
