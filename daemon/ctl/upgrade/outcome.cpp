// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/upgrade/outcome.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/view.hpp"

namespace gpuhost::ctl {

using base::Json;

int UpgradeOutcome::add(const Ran& ran) {
    if (ran.kind == Ran::Kind::Nothing)
        return ran.exit_status();
    document_[ran.kind == Ran::Kind::Operation ? "operations" : "plans"].push_back(ran.document);
    if (session_.wants_json())
        return ran.exit_status();
    if (ran.kind == Ran::Kind::Operation)
        return report_operation(session_, ran.document, false);
    if (ran.kind == Ran::Kind::Refused)
        return report(session_, ran);
    session_.print(render_plan(session_.out(), ran.document));
    return ran.exit_status();
}

void UpgradeOutcome::add_operations(const Json& operations) {
    for (const Json& operation : operations)
        document_["operations"].push_back(operation);
}

/// Prints and adds an error. Returns the exit status.
int UpgradeOutcome::status_of(const base::Result<int>& result) {
    if (result)
        return *result;
    session_.complain(result.error());
    document_["error"] = base::to_json(result.error());
    return base::info(result.error().code).exit_code;
}

int UpgradeOutcome::stop(const base::Result<int>& status, const std::vector<std::string>& left,
                         const std::string& command) {
    const int exit_status = status_of(status);
    session_.warn(render_rest_of_upgrade(base::strings_or_empty(document_, "done"), left, command));
    document_["left"] = left;
    document_["continue"] = command;
    if (session_.wants_json())
        session_.print_json(document_);
    return exit_status;
}

int UpgradeOutcome::fail(const base::Error& error) {
    const int exit_status = status_of(base::fail(error));
    if (session_.wants_json())
        session_.print_json(document_);
    return exit_status;
}

int UpgradeOutcome::finish(const Verdict& verdict) {
    document_["verdict"] = to_json(verdict);
    if (session_.wants_json())
        session_.print_json(document_);
    else
        session_.print(render_verdict(session_.out(), verdict));
    return verdict.ok ? 0 : not_ok_exit_status;
}

int UpgradeOutcome::finish_dry_run(const base::Result<int>& result) {
    const int status = status_of(result);
    if (session_.wants_json()) {
        session_.print_json(document_);
        return status;
    }
    if (status == 0 && document_["plans"].empty() && document_["unchecked"].empty())
        session_.print("Nothing to do: the host is up to date.\n");
    std::string lines;
    for (const std::string& what : base::strings_or_empty(document_, "unchecked"))
        lines += "  " + printable(what) + "\n";
    const std::string gap = document_["plans"].empty() ? "" : "\n";
    session_.print(lines.empty() ? "" : gap + "Not checked now:\n" + lines);
    return status;
}

std::string render_rest_of_upgrade(const std::vector<std::string>& done, const std::vector<std::string>& left,
                                   const std::string& command) {
    return "Done: " + (done.empty() ? "nothing" : printable(base::join(done, ", "))) + ".\n" +
           "Left: " + printable(base::join(left, ", ")) + ".\n" + "After the cause is removed" +
           (done.empty() ? ", run the same command again." : ": " + printable(command)) + "\n";
}

} // namespace gpuhost::ctl
