// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/policy.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/cluster/policy/toolkit_tag.hpp"
#include "daemon/cluster/policy/unknown_fields.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::cluster {

using base::Json;
using base::string_or;

namespace {

constexpr std::size_t most_of_a_list = 256;           ///< pools, windows, gates
constexpr std::size_t most_waves = 64;                ///< number of bits in FleetHost::waves
constexpr std::uint64_t longest_soak = 1'000'000'000; ///< seconds

/// Reads merged values. merge_policy() has already checked their types.
class Reader {
  public:
    /// A pool as a source of values: its name, and the path of its element of rollout.pools.
    struct Place {
        std::string name; ///< "pool 'a'", the name of its layer
        std::string path; ///< "rollout.pools[0]"
        std::string source;
    };
    /// `pool`: null for the common values. The problems of a pool are those of its own values.
    Reader(const MergedPolicy& merged, const Place* pool, std::vector<PolicyProblem>& problems)
        : merged_(merged), pool_(pool), problems_(problems) {}

    [[nodiscard]] bool boolean(std::string_view path) const { return merged_.at(path).get<bool>(); }
    [[nodiscard]] std::string text(std::string_view path) const {
        return merged_.at(path).get<std::string>();
    }
    [[nodiscard]] bool is(std::string_view path, std::string_view value) const { return text(path) == value; }
    [[nodiscard]] unsigned count(std::string_view path) const { return merged_.at(path).get<unsigned>(); }
    [[nodiscard]] Seconds seconds(std::string_view path) const { return Seconds(count(path)); }
    [[nodiscard]] CountOrShare share(std::string_view path) const { return as_share(merged_.at(path)); }

    [[nodiscard]] Selector selector(std::string_view path) {
        return checked(Selector::parse(text(path)), std::string(path));
    }

    [[nodiscard]] const Json& list(std::string_view path) {
        static const Json none = Json::array();
        const Json& found = merged_.at(path);
        if (found.size() <= most_of_a_list)
            return found;
        problem(std::string(path), "has more than " + std::to_string(most_of_a_list) + " elements");
        return none;
    }

    template <typename T>
    T checked(base::Result<T> read, const std::string& path) {
        if (read)
            return std::move(*read);
        problem(path, read.error().message);
        return T();
    }

    void problem(const std::string& path, const std::string& what) {
        const auto value = merged_.values.find(path.substr(0, path.find('[')));
        const std::string source = value == merged_.values.end() ? "" : value->second.source;
        if (pool_ == nullptr)
            problems_.push_back({path + ": " + what, source, path});
        else if (source == pool_->name)
            problems_.push_back(
                {pool_->name + ": " + path + ": " + what, pool_->source, pool_->path + "." + path});
    }

    [[nodiscard]] static CountOrShare as_share(const Json& value) {
        if (!value.is_string())
            return {value.get<unsigned>(), false};
        const auto& text = value.get_ref<const std::string&>();
        const bool percent = base::ends_with(text, "%");
        return {static_cast<unsigned>(
                    base::parse_uint(text.substr(0, text.size() - (percent ? 1 : 0))).value_or(0)),
                percent};
    }

  private:
    const MergedPolicy& merged_;
    const Place* pool_;
    std::vector<PolicyProblem>& problems_;
};

PodRules pod_rules(Reader& read, const std::string& path) {
    PodRules rules;
    rules.force = read.boolean(path + ".force");
    rules.delete_empty_dir = read.boolean(path + ".deleteEmptyDir");
    rules.timeout = read.seconds(path + ".timeoutSeconds");
    return rules;
}

/// Sets the rules of k8s-driver-manager in `policy`. They apply if no upgrade controller moves pods.
void read_manager_rules(UpgradePolicy& policy, Reader& read) {
    const auto path = [](const char* name) { return "driver.manager.env." + std::string(name); };
    PodRules rules;
    rules.force = read.boolean(path("DRAIN_USE_FORCE"));
    rules.delete_empty_dir = read.boolean(path("DRAIN_DELETE_EMPTYDIR_DATA"));
    rules.timeout = read.seconds(path("DRAIN_TIMEOUT_SECONDS"));
    policy.deletion = rules;
    policy.deletion.enabled = read.boolean(path("ENABLE_GPU_POD_EVICTION"));
    policy.drain = rules;
    policy.drain.enabled = read.boolean(path("ENABLE_AUTO_DRAIN"));
    policy.drain.selector = read.selector(path("DRAIN_POD_SELECTOR_LABEL"));
}

/// Returns true if `value` is a percentage, or a count of hosts as a number or a text.
bool is_share(const Json& value) {
    if (!value.is_string())
        return value.is_number_unsigned();
    const auto& text = value.get_ref<const std::string&>();
    return base::parse_uint(
               std::string_view(text).substr(0, text.size() - (base::ends_with(text, "%") ? 1 : 0)))
        .has_value();
}

Wave read_wave(Reader& read, const Json& value, std::size_t index) {
    const std::string path = "rollout.waves[" + std::to_string(index) + "]";
    Wave wave;
    wave.name = string_or(value, "name", "wave " + std::to_string(index + 1));
    constexpr std::array<std::string_view, 4> known{"name", "nodeSelector", "size", "soakSeconds"};
    if (const std::string unknown = unknown_fields(value, known); !unknown.empty())
        read.problem(path, unknown);
    wave.selector = read.checked(Selector::read(base::member(value, "nodeSelector")), path + ".nodeSelector");
    if (const Json& size = base::member(value, "size"); is_share(size))
        wave.size = Reader::as_share(size);
    else if (!size.is_null())
        read.problem(path + ".size", "not a number of hosts nor a percentage: " + base::dump(size));
    if (const Json& soak = base::member(value, "soakSeconds"); soak.is_number_unsigned())
        wave.soak = Seconds(std::min<std::uint64_t>(soak.get<std::uint64_t>(), longest_soak));
    else if (!soak.is_null())
        read.problem(path + ".soakSeconds", "not a number of seconds: " + base::dump(soak));
    return wave;
}

UpgradePolicy read_upgrade(const MergedPolicy& merged, const Reader::Place* pool,
                           std::vector<PolicyProblem>& problems) {
    Reader read(merged, pool, problems);
    const std::string above = "driver.upgradePolicy.";
    UpgradePolicy policy;
    policy.driver_enabled = read.boolean("driver.enabled");
    policy.version = read.text("driver.version");
    policy.mode = read.boolean(above + "autoUpgrade") ? UpgradeMode::Controlled : UpgradeMode::OnRequest;
    policy.max_parallel = read.count(above + "maxParallelUpgrades");
    policy.max_unavailable = read.share(above + "maxUnavailable");
    policy.count_all_unavailable = read.is("rollout.countUnavailable", "all");
    policy.wait_for = read.selector(above + "waitForCompletion.podSelector");
    policy.wait_timeout = read.seconds(above + "waitForCompletion.timeoutSeconds");
    policy.deletion = pod_rules(read, above + "podDeletion");
    policy.drain = pod_rules(read, above + "drain");
    policy.drain.enabled = read.boolean(above + "drain.enable");
    policy.drain.selector = read.selector(above + "drain.podSelector");
    if (policy.mode == UpgradeMode::OnRequest)
        read_manager_rules(policy, read);
    policy.override_pdb = read.is("rollout.pdb", "override-after-timeout");
    policy.failure_budget = read.share("rollout.failureBudget");
    policy.retries = read.count("rollout.retries");
    policy.retry_delay = read.seconds("rollout.retryDelaySeconds");
    policy.rollback = read.boolean("rollout.rollback");
    policy.may_reboot = read.is("rollout.reboot", "when-required");
    policy.swap_timeout = read.seconds("rollout.swapTimeoutSeconds");
    policy.validation_timeout = read.seconds("rollout.validationTimeoutSeconds");
    policy.topology_key = read.text("rollout.topologyKey");
    for (const Json& wave : read.list("rollout.waves"))
        policy.waves.push_back(read_wave(read, wave, policy.waves.size()));
    if (policy.waves.size() > most_waves)
        read.problem("rollout.waves", "has more than " + std::to_string(most_waves) + " elements");
    policy.waves.resize(std::min(policy.waves.size(), most_waves));
    for (const Json& window : read.list("rollout.windows"))
        policy.windows.push_back(read.checked(
            parse_window(window), "rollout.windows[" + std::to_string(policy.windows.size()) + "]"));
    for (const Json& gate : read.list("rollout.gates"))
        policy.gates.push_back(
            read.checked(parse_gate(gate), "rollout.gates[" + std::to_string(policy.gates.size()) + "]"));
    return policy;
}

std::string layer_name(const std::string& pool) {
    return "pool '" + pool + "'";
}

/// Reads a pool: its name, its selector, and the fields in which its policy differs from the common one.
Pool read_pool(const MergedPolicy& merged, const Json& value, std::size_t index,
               std::vector<PolicyProblem>& problems) {
    const std::string path = "rollout.pools[" + std::to_string(index) + "]";
    Reader read(merged, nullptr, problems);
    Pool pool;
    pool.name = string_or(value, "name", "");
    if (pool.name.empty() || pool.name == "default")
        read.problem(path, "must have a name other than 'default'");
    constexpr std::array<std::string_view, 4> known{"name", "nodeSelector", "driver", "rollout"};
    if (const std::string unknown = unknown_fields(value, known); !unknown.empty())
        read.problem(path, unknown);
    pool.selector = read.checked(Selector::read(base::member(value, "nodeSelector")), path + ".nodeSelector");
    const MergedPolicy own = pool_values(merged, value);
    const Reader::Place place{layer_name(pool.name), path,
                              merged.values.find("rollout.pools")->second.source};
    for (const PolicyProblem& problem : own.problems)
        problems.push_back({problem.text, place.source, path + "." + problem.path});
    pool.policy = read_upgrade(own, &place, problems);
    return pool;
}

} // namespace

unsigned CountOrShare::of(unsigned total) const {
    if (!percent)
        return number;
    return static_cast<unsigned>((static_cast<std::uint64_t>(number) * total + 99) / 100);
}

std::string CountOrShare::text() const {
    return std::to_string(number) + (percent ? " %" : "");
}

std::size_t Policy::pool_of(const Labels& labels) const {
    std::size_t index = 0;
    while (index + 1 < pools.size() && !pools[index].selector.matches(labels))
        ++index;
    return index;
}

MergedPolicy pool_values(const MergedPolicy& merged, const Json& pool) {
    PolicyLayer layer{layer_name(string_or(pool, "name", "")), Json::object()};
    for (const char* part : {"driver", "rollout"})
        if (const Json& given = base::member(pool, part); !given.is_null())
            layer.spec[part] = given;
    return with_layer(merged, layer);
}

Policy read_policy(const MergedPolicy& merged) {
    Policy policy;
    policy.problems = merged.problems;
    Reader read(merged, nullptr, policy.problems);
    policy.max_parallel = read.count("rollout.maxParallelUpgrades");
    policy.silence = read.seconds("rollout.silenceSeconds");
    policy.release_silent = read.is("rollout.onSilence", "release");
    if (read.boolean("toolkit.enabled")) // otherwise the hosts have a toolkit (NVIDIA's documentation)
        policy.toolkit = toolkit_version_of(read.text("toolkit.version"));
    for (const Json& pool : read.list("rollout.pools")) {
        Pool made = read_pool(merged, pool, policy.pools.size(), policy.problems);
        for (const Pool& other : policy.pools)
            if (!made.name.empty() && other.name == made.name)
                read.problem("rollout.pools", "two pools have the name '" + made.name + "'");
        policy.pools.push_back(std::move(made));
    }
    policy.pools.push_back({"default", Selector(), read_upgrade(merged, nullptr, policy.problems)});
    return policy;
}

} // namespace gpuhost::cluster
