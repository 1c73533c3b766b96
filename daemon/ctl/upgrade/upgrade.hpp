// SPDX-License-Identifier: Apache-2.0
// The parts of 'upgrade', in their order: import, build, swap, and the rest of the configuration. A part that
// has nothing to do is skipped, so the same command continues an upgrade that stopped. An import of packages
// or modules is repeated, with the same result.
#pragma once

#include "daemon/client/request.hpp"
#include "daemon/ctl/cluster/offer.hpp"
#include "daemon/ctl/upgrade/choice.hpp"
#include "daemon/ctl/upgrade/input.hpp"
#include "daemon/ctl/upgrade/outcome.hpp"

namespace gpuhost::ctl {

class Upgrade {
  public:
    /// `holders`: the options of the swap.
    Upgrade(Session& session, client::Client& client, UpgradeInput input, client::Options holders)
        : session_(session), client_(client), input_(std::move(input)), holders_(std::move(holders)),
          outcome_(session) {}

    /// Runs all parts. Returns the exit status.
    [[nodiscard]] base::Result<int> run();
    /// Runs the checks of the parts that can be checked now, and names the others.
    [[nodiscard]] base::Result<int> dry_run();

  private:
    enum class Part { Import, Build, Swap, Rest };

    // Defined in upgrade.cpp:
    [[nodiscard]] base::Result<int> check_first();
    [[nodiscard]] base::Result<int> run_part(Part part);
    [[nodiscard]] int stop(Part at, const base::Result<int>& status);
    [[nodiscard]] base::Result<int> run_later_part(Part part);
    [[nodiscard]] bool concerns(Part part) const;
    [[nodiscard]] std::string noun(Part part) const;
    [[nodiscard]] std::string continuation() const;

    // Defined in import.cpp:
    [[nodiscard]] base::Result<Ran> check_bundle();
    [[nodiscard]] base::Result<int> import();
    [[nodiscard]] base::Result<int> import_bundle();
    [[nodiscard]] base::Result<int> import_drivers(bool dry_run);
    [[nodiscard]] base::Result<int> fetch();
    [[nodiscard]] base::Result<void> choose();
    void note_drivers(const base::Json& document);

    // Defined in dry_run.cpp:
    [[nodiscard]] base::Result<int> check_parts();
    [[nodiscard]] base::Result<int> check_import();
    [[nodiscard]] base::Result<int> check_later_parts();
    [[nodiscard]] int leave_unchecked(Part after);

    // Defined in requests.cpp:
    [[nodiscard]] client::Request bundle_request(const std::vector<client::InputFile>& files) const;
    [[nodiscard]] client::Request build_request() const;
    [[nodiscard]] client::Request swap_request() const;
    [[nodiscard]] client::Request rest_request() const;
    [[nodiscard]] base::Result<std::optional<client::Request>> request_of(Part part);
    [[nodiscard]] base::Result<bool> leave_swap(Part part, const client::Request& request);
    [[nodiscard]] base::Result<bool> is_idle(const client::Request& request);
    [[nodiscard]] base::Result<bool> needs_build();
    [[nodiscard]] base::Result<ChoiceFacts> choice_facts();
    [[nodiscard]] std::string arguments_text(bool with_input) const;

    Session& session_;
    client::Client& client_;
    UpgradeInput input_;
    client::Options holders_;
    UpgradeOutcome outcome_;
    ClusterOffer offer_;
    bool is_swap_left_ = false;                       ///< to gpuhost-cluster, without a request
    std::optional<std::vector<std::string>> brought_; ///< see ChoiceFacts
    ChoiceFacts facts_;                               ///< of the last choose()
    std::optional<std::string> version_;              ///< of choose_version(); nullopt: not chosen yet
    bool imported_ = false;                           ///< nothing is left to import
};

} // namespace gpuhost::ctl
