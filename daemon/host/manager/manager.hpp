// SPDX-License-Identifier: Apache-2.0
// The daemon's middle: settings, components and the runner, as the bus shows them.
#pragma once

#include "daemon/core/component.hpp"
#include "daemon/host/manager/cluster_side.hpp"
#include "daemon/host/transaction/history.hpp"
#include "daemon/host/transaction/runner.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::host {

class Manager {
  public:
    using Components = std::vector<std::unique_ptr<core::Component>>;
    using Keys = std::vector<std::span<const core::SettingKey>>;

    enum class Mode {
        Live,    ///< of the host that runs: converges at start
        Mounted, ///< of a system that does not: does what it is asked for, and nothing by itself
        Look,    ///< of such a system: changes nothing at all
    };

    /// References must outlive the manager.
    Manager(Event& event, const base::Root& root, Runner& runner, Components components, Keys keys,
            std::string kernel);

    /// Takes up what was left unfinished, makes the first inventory, then converges what wants that at start; as far as
    /// the mode has it.
    [[nodiscard]] base::Result<void> start(Mode mode = Mode::Live);
    /// One listener: the bus, which tells everybody else.
    void listen(Runner::Listener listener) { listener_ = std::move(listener); }
    /// State, readiness or what a component sees may have changed; one callback, the bus's.
    void on_change(std::function<void()> callback) { changed_ = std::move(callback); }

    /// What a request would do. Empty request: every component, or `only` those of these names.
    [[nodiscard]] base::Result<core::Plan> plan(const base::Json& request, std::string_view only = {});
    /// Starts it, or with `check_only` its preflight alone. 0 with nothing to do. A plan with problems is the
    /// error that they make.
    [[nodiscard]] base::Result<std::uint64_t> apply(const base::Json& request, core::Subject subject,
                                                    std::vector<base::UniqueFd> inputs,
                                                    bool check_only = false, std::string_view only = {});
    /// What a component sees, by look().
    [[nodiscard]] base::Result<base::Json> observe(std::string_view component);
    [[nodiscard]] base::Json describe();
    /// What became of the driver, the newest first.
    [[nodiscard]] base::Json driver_history() const;
    /// read_kubelet_files() of KubeletFiles=.
    [[nodiscard]] base::Json lend_kubelet_files() const;
    /// Has the host's toolkit and runtimes follow, where that is another wish than before: the operation that does it, 0 for none.
    /// What stands in their way is no error, and shows in what describe() says of them. Busy: nothing was changed.
    [[nodiscard]] base::Result<std::uint64_t> set_cluster_wish(const core::ClusterWish& wish,
                                                               core::Subject subject);
    void withdraw_cluster_driver();
    /// ClusterSide::request_upgrade()
    [[nodiscard]] base::Result<void> request_upgrade(const std::string& version);
    /// Reads the configuration again; what is wrong in it.
    std::vector<std::string> reload();

    [[nodiscard]] std::string_view state() const;
    [[nodiscard]] bool ready() const { return ready_; }
    [[nodiscard]] const std::string& kernel() const { return kernel_; }
    [[nodiscard]] Runner& runner() { return runner_; }

  private:
    void load_settings();
    /// Once a turn of the loop, whoever asks in it: what the daemon begins changes the host in a later one. Holds for this
    /// turn, and until settings are loaded.
    [[nodiscard]] const base::Result<base::Json>& look(core::Component& component);
    [[nodiscard]] bool begin_preparation();
    void converge();
    void settle();
    [[nodiscard]] bool wants_to_converge(const core::Component& component, const base::Json& observed) const;
    void operation_ended(const Operation& operation);
    [[nodiscard]] bool is_as_wanted();

    Event& event_;
    const base::Root& root_;
    Runner& runner_;
    Components components_;
    Keys keys_;
    std::string kernel_;
    ClusterSide cluster_;
    History history_;
    core::Settings settings_;
    std::vector<std::string> problems_; ///< of the configuration
    std::map<const core::Component*, base::Result<base::Json>> seen_;
    std::optional<std::uint64_t> seen_in_turn_;
    Runner::Listener listener_;
    std::function<void()> changed_;
    Source later_;
    Mode mode_ = Mode::Live;
    std::vector<core::Step> interrupted_; ///< begun by what the boot before left unfinished
    bool started_ = false;
    bool prepared_ = false;  ///< what comes before convergence was begun, or is nothing
    bool converged_ = false; ///< convergence at start was tried
    bool failed_ = false;    ///< an operation failed since, and may have left what convergence mends
    bool ready_ = false;
    bool degraded_ = false;
};

} // namespace gpuhost::host
