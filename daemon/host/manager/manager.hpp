// SPDX-License-Identifier: Apache-2.0
// The core of gpuhostd: holds the settings and the components, makes plans, and starts them with the runner.
// The D-Bus objects (daemon/bus) call it.
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
        Live,     ///< on the running host: applies plans at start
        Mounted,  ///< on a mounted system: starts only what clients request
        ReadOnly, ///< on a mounted system: reports, and changes nothing
    };

    /// All references must outlive the manager. `kernel` is the kernel release to report: the running
    /// kernel's, or no_kernel.
    Manager(Event& event, const base::Root& root, Runner& runner, Components components, Keys keys,
            std::string kernel);

    /// Loads settings and resumes an interrupted operation. Then observes the host and applies the plans of
    /// those components that must converge at start. Mode::Mounted applies no plans at start; Mode::ReadOnly
    /// only reads the journals.
    [[nodiscard]] base::Result<void> start(Mode mode = Mode::Live);
    /// Sets the listener for operations. There is only one, the D-Bus server.
    void listen(Runner::Listener listener) { listener_ = std::move(listener); }
    /// Sets the callback that runs when state(), ready() or a component's observation may have changed. There
    /// is only one, the D-Bus server's.
    void on_change(std::function<void()> callback) { changed_ = std::move(callback); }

    /// Returns what a request would change. `request` names one component, see Desired::request. An empty
    /// request plans for all components, or for those named in `only`, separated by blanks.
    [[nodiscard]] base::Result<core::Plan> plan(const base::Json& request, std::string_view only = {});
    /// Starts the plan of a request; with `check_only` the operation ends after preflight. Returns the
    /// operation's id, or 0 if there is nothing to do. If the plan has problems, fails with them.
    [[nodiscard]] base::Result<std::uint64_t> apply(const base::Json& request, core::Subject subject,
                                                    std::vector<base::UniqueFd> inputs,
                                                    bool check_only = false, std::string_view only = {});
    /// Returns Component::document() of the named component's observation, see the private observe(). Fails
    /// with NotFound for an unknown name.
    [[nodiscard]] base::Result<base::Json> observe(std::string_view component);
    [[nodiscard]] base::Json describe();
    /// Returns the history of driver changes, newest first.
    [[nodiscard]] base::Json driver_history() const;
    /// Returns read_kubelet_files() for the paths in the setting KubeletFiles=. Fails with Refused if
    /// EvictAs= is "own".
    [[nodiscard]] base::Result<base::Json> kubelet_files() const;
    /// Stores the cluster's desired state. Starts the plan of the toolkit and the runtimes, if the wanted
    /// toolkit has changed or is the one that the cluster sets. Returns the operation's id, or 0 for none.
    /// Problems of these components are not an error: describe() lists them. Fails with Busy, without a
    /// change, while an operation runs.
    [[nodiscard]] base::Result<std::uint64_t> set_desired_state(const core::ClusterDesired& desired,
                                                                core::Subject subject);
    void withdraw_cluster_driver();
    /// See ClusterSide::request_upgrade().
    [[nodiscard]] base::Result<void> request_upgrade(const std::string& version);
    /// Loads the settings again. Returns the problems in the configuration files.
    std::vector<std::string> reload();

    [[nodiscard]] std::string_view state() const;
    [[nodiscard]] bool ready() const { return ready_; }
    [[nodiscard]] const std::string& kernel() const { return kernel_; }
    [[nodiscard]] Runner& runner() { return runner_; }

  private:
    void load_settings();
    /// Observes a component, at most once in each iteration of the event loop. Once is enough, because an
    /// operation that is started now changes the host in a later iteration. The reference is valid until the
    /// iteration ends or settings are loaded.
    [[nodiscard]] const base::Result<core::Observation>& observe(core::Component& component);
    [[nodiscard]] bool begin_preparation();
    void converge();
    void reevaluate();
    [[nodiscard]] bool wants_to_converge(const core::Component& component,
                                         const core::Observation& observed) const;
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
    std::uint64_t config_read_us_ = 0;  ///< CLOCK_REALTIME of the last load of the configuration
    std::vector<std::string> problems_; ///< lines about the configuration files, from the last load
    std::map<const core::Component*, base::Result<core::Observation>> seen_;
    std::optional<std::uint64_t> seen_in_turn_;
    Runner::Listener listener_;
    std::function<void()> changed_;
    Source later_;
    Mode mode_ = Mode::Live;
    /// Steps of operations that an earlier boot interrupted and this boot ended, for
    /// Component::converge_after().
    std::vector<core::Step> interrupted_;
    bool started_ = false;
    bool prepared_ = false;  ///< begin_preparation() was called
    bool converged_ = false; ///< converge() has planned for all components
    /// The last operation failed, and the daemon did not start it itself: converge() may plan again.
    bool failed_ = false;
    bool ready_ = false;
    bool degraded_ = false;
};

} // namespace gpuhost::host
