// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/host/verdict.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

/// Collects what an upgrade does. Prints it as text part by part, or as one JSON document at the end.
class UpgradeOutcome {
  public:
    explicit UpgradeOutcome(Session& session) : session_(session) {}

    /// Adds the result of a request, and prints it. Returns its exit status.
    int add(const Ran& ran);
    /// Adds documents that were printed already.
    void add_operations(const base::Json& operations);
    /// Adds an error that was already printed.
    void set_error(const base::Json& error) { document_["error"] = error; }
    void set_version(const std::string& version) { document_["version"] = version; }
    /// Tells that gpuhost-cluster swaps to this version later.
    void set_scheduled(const std::string& version) { document_["scheduled"] = version; }
    /// Adds a part that a dry run can't check now, and the reason.
    void add_unchecked(const std::string& what) { document_["unchecked"].push_back(what); }
    void add_done(const std::string& what) { document_["done"].push_back(what); }

    /// Ends an upgrade in which a part failed: with an error, or with the status of a part that printed its
    /// own error. Prints what is done, what is left, and the command that continues. Returns the exit status.
    [[nodiscard]] int stop(const base::Result<int>& status, const std::vector<std::string>& left,
                           const std::string& command);
    /// Ends an upgrade whose command is wrong: to repeat it would not help. Returns the exit status.
    [[nodiscard]] int fail(const base::Error& error);
    /// Ends a complete upgrade with the verdict of status. Returns the exit status.
    [[nodiscard]] int finish(const Verdict& verdict);
    /// Ends a dry run with this exit status, or with an error. Names the parts that were not checked. Returns
    /// the exit status.
    [[nodiscard]] int finish_dry_run(const base::Result<int>& result);

  private:
    [[nodiscard]] int status_of(const base::Result<int>& result);

    Session& session_;
    base::Json document_{{"operations", base::Json::array()},
                         {"plans", base::Json::array()},
                         {"unchecked", base::Json::array()},
                         {"done", base::Json::array()}};
};

/// Renders "Done: …", "Left: …" and what continues once the cause is removed.
[[nodiscard]] std::string render_rest_of_upgrade(const std::vector<std::string>& done,
                                                 const std::vector<std::string>& left,
                                                 const std::string& command);

} // namespace gpuhost::ctl
