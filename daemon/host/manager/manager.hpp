// SPDX-License-Identifier: Apache-2.0
// Connects settings, components and the runner, and offers them to the bus.
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
        Live,     ///< on the running host: converges at start
        Mounted,  ///< on an offline system: does what is requested, and nothing by itself
        ReadOnly, ///< on an offline system: read-only
    };

    /// All references must outlive the manager.
    Manager(Event& event, const base::Root& root, Runner& runner, Components components, Keys keys,
            std::string kernel);

    /// Resumes what was left unfinished, makes the first inventory, then converges the components that do so
    /// at start. The mode limits each of these.
    [[nodiscard]] base::Result<void> start(Mode mode = Mode::Live);
    /// Sets the only listener: the bus, which forwards to all others.
    void listen(Runner::Listener listener) { listener_ = std::move(listener); }
    /// Sets the only callback for changes of the state, of readiness, or of what a component observes: the
    /// bus's.
    void on_change(std::function<void()> callback) { changed_ = std::move(callback); }

    /// Returns what a request would do. An empty request plans for all components, or for those named in
    /// `only`.
    [[nodiscard]] base::Result<core::Plan> plan(const base::Json& request, std::string_view only = {});
    /// Starts the plan, or with `check_only` its preflight alone. Returns the operation, or 0 if there is
    /// nothing to do. Fails with the plan's problems, if it has any.
    [[nodiscard]] base::Result<std::uint64_t> apply(const base::Json& request, core::Subject subject,
                                                    std::vector<base::UniqueFd> inputs,
                                                    bool check_only = false, std::string_view only = {});
    /// Returns what a component observes, see observe().
    [[nodiscard]] base::Result<base::Json> observe(std::string_view component);
    [[nodiscard]] base::Json describe();
    /// Returns the history of driver changes, newest first.
    [[nodiscard]] base::Json driver_history() const;
    /// Returns read_kubelet_files() for the paths in KubeletFiles=.
    [[nodiscard]] base::Json kubelet_files() const;
    /// Applies the cluster's configuration to the toolkit and the runtimes, if it differs from the previous
    /// one. Returns the operation, or 0 for none. Problems of these components are not an error; describe()
    /// lists them. Fails with Busy, without a change, while another operation runs.
    [[nodiscard]] base::Result<std::uint64_t> set_desired_state(const core::ClusterDesired& desired,
                                                                core::Subject subject);
    void withdraw_cluster_driver();
    /// See ClusterSide::request_upgrade().
    [[nodiscard]] base::Result<void> request_upgrade(const std::string& version);
    /// Reads the configuration again. Returns the problems found in it.
    std::vector<std::string> reload();

    [[nodiscard]] std::string_view state() const;
    [[nodiscard]] bool ready() const { return ready_; }
    [[nodiscard]] const std::string& kernel() const { return kernel_; }
    [[nodiscard]] Runner& runner() { return runner_; }

  private:
    void load_settings();
    /// Observes a component at most once in each turn of the loop: what the daemon starts changes the host in
    /// a later turn. The reference is valid for this turn, and until settings are loaded.
    [[nodiscard]] const base::Result<base::Json>& observe(core::Component& component);
    [[nodiscard]] bool begin_preparation();
    void converge();
    void reevaluate();
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
    /// steps begun by operations that an earlier boot left unfinished
    std::vector<core::Step> interrupted_;
    bool started_ = false;
    bool prepared_ = false;  ///< begin_preparation() was called
    bool converged_ = false; ///< convergence was tried at start
    bool failed_ = false;    ///< an operation failed since, and may have left what convergence repairs
    bool ready_ = false;
    bool degraded_ = false;
};

} // namespace gpuhost::host
