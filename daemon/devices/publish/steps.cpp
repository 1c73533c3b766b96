// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/steps.hpp"

#include "daemon/devices/publish/config_file.hpp"
#include "daemon/devices/publish/mark_steps.hpp"
#include "daemon/devices/publish/marks.hpp"
#include "daemon/devices/publish/offer_files.hpp"
#include "daemon/devices/publish/other_servers.hpp"
#include "daemon/devices/publish/present_gpus.hpp"
#include "daemon/devices/publish/state.hpp"

#include <utility>

namespace gpuhost::devices {
namespace {

using base::Json;
using base::Result;
using core::StepContext;

constexpr std::chrono::seconds patience{10}; ///< for the end of gpuhost-devices
constexpr const char* swap_reason = "the driver is being replaced";

/// Returns how the present offer shares GPUs, under the present ResourceName=; nullopt without an offer.
std::optional<Sharing> kept_sharing(const base::Root& root, const DevicesSettings& settings) {
    auto offer = read_offer(root);
    if (!offer)
        return std::nullopt;
    for (SharedResource& one : offer->sharing.resources)
        if (one.name == offer->resource && replicas_of(offer->sharing, settings.resource) == 1)
            one.name = settings.resource;
    return std::move(offer->sharing);
}

/// Returns the sharing of ConfigFile=. A refused file is a warning: a failure would undo the other components
/// of the plan, and the next plan reports the mistake. The present sharing stays then, and `record` keeps the
/// identity of the file that it is from. nullopt: no sharing is known, and pods would get whole GPUs.
Result<std::optional<Sharing>> sharing_for(StepContext& context, const DevicesSettings& settings,
                                           OfferRecord& record) {
    auto config = read_sharing(context.root, settings);
    if (!config && config.error().code != base::Errc::BadContent)
        return base::fail(config.error());
    if (config) {
        for (const core::SettingsProblem& problem : config->problems)
            context.warn(core::to_string(problem));
        return std::optional(std::move(config->sharing));
    }
    auto kept = kept_sharing(context.root, settings);
    context.warn(
        (kept ? "the GPUs keep their present sharing: " : "the GPUs are not offered to the kubelet: ") +
        config.error().message);
    const auto present = read_offer_record(context.root);
    record.inputs["config_file"] =
        base::string_or(present ? present->inputs : Json(), "config_file", "not known");
    return kept;
}

/// Returns how container runtimes name the GPUs. An index is that of gpuhostd's CDI specification, and for
/// NVIDIA's runtime that of NVML. If they differ, only UUIDs name the same GPU.
IdStrategy ids_for(StepContext& context, const DevicesSettings& settings, const PresentGpus& present) {
    if (settings.ids != IdStrategy::index || !present.renumbered)
        return settings.ids;
    context.warn(
        "containers get UUIDs of GPUs instead of indices: NVML does not number the GPUs by PCI address");
    return IdStrategy::uuid;
}

/// Offers what is present; as withdrawn if NVML fails as a whole, because containers can't use the GPUs then.
/// The offer is written before its record: if only the offer was written, the step runs again.
Result<Json> offer_present(StepContext& context, const DevicesSettings& settings) {
    OfferRecord record{"", offer_inputs(context.root, settings), ""}; // first: files may change meanwhile
    GPUHOST_TRY(sharing, sharing_for(context, settings, record));
    if (!sharing) {
        GPUHOST_CHECK(remove_offer(context.root)); // it can't be read
        return Json{{"gpus", 0}};
    }
    PresentGpus present = read_present_gpus(context.root);
    if (!present.problems.empty()) {
        record.problem = present.problems.front();
        for (const std::string& problem : present.problems)
            context.warn("the kubelet does not get complete facts of the GPUs: " + problem);
    }
    if (!present.failure.empty())
        context.warn("the GPUs stay withdrawn from the kubelet: " + present.failure);
    if (context.root.exists(registry_link) && !has_registry(context.root, settings.kubelet_root)) {
        GPUHOST_CHECK(remove_offer(context.root));
        if (!wait_for_end(context.root, patience))
            context.warn("gpuhost-devices still uses a former directory: systemctl restart gpuhost-devices");
    }
    GPUHOST_CHECK(make_registry(context.root, settings.kubelet_root));
    const std::size_t count = present.gpus.size();
    std::string unreadable;
    HealthRules rules = usable_rules(context.root, settings, unreadable);
    if (!unreadable.empty())
        context.warn("the offer keeps its present marks of GPUs: " + unreadable);
    const IdStrategy ids = ids_for(context, settings, present);
    Offer offer{"",
                settings.resource,
                settings.mig,
                std::move(present.failure),
                std::move(present.gpus),
                std::move(rules),
                std::move(present.host),
                settings.labels,
                settings.taint_unhealthy,
                *std::move(sharing),
                settings.strategies,
                ids,
                settings.pass_nodes && uses_nvidias_runtime(settings.strategies)
                    ? std::optional(control_nodes(context.root))
                    : std::nullopt};
    GPUHOST_TRY(id, write_offer(context.root, offer));
    publish_features(context);
    record.id = id;
    GPUHOST_CHECK(write_offer_record(context.root, record));
    confirm_offer(context, id);
    return Json{{"gpus", count}};
}

/// Observes the host again: an earlier step may have loaded a driver after the plan was made.
Result<Json> converge(StepContext& context, const DevicesSettings& settings) {
    const Json observed = observe_devices(context.root, settings);
    const auto others = base::strings_or_empty(observed, "others");
    const bool is_none = !settings.serve || observed_driver(observed).empty();
    if (!settings.mistake.empty() && !is_none && others.empty())
        return base::fail(base::Errc::InvalidArgument, "section [Devices]: " + settings.mistake);
    if (others.empty() && offer_reasons(settings, observed).empty())
        return Json{{"gpus", base::int_or(base::member(observed, "offer"), "gpus", 0)}};
    GPUHOST_CHECK(save_offer(context.root, context.staging));
    if (is_none) {
        GPUHOST_CHECK(remove_offer(context.root));
        if (!settings.serve)
            publish_features(context);
        return Json{{"gpus", 0}};
    }
    if (!others.empty()) {
        base::Error error = other_server_error(others.front());
        if (!remains(observed))
            return base::fail(std::move(error));
        GPUHOST_CHECK(remove_offer(context.root)); // a failure here would restore the offer
        publish_features(context);
        context.warn("stopped offering the GPUs to the kubelet: " + error.message);
        return Json{{"gpus", 0}};
    }
    return offer_present(context, settings);
}

/// Runs converge() in a plan that changes the driver.
Result<Json> try_converge(StepContext& context, const DevicesSettings& settings) {
    auto done = converge(context, settings);
    if (done)
        return done;
    context.warn("the GPUs are not offered to the kubelet: " + done.error().message);
    return Json{{"gpus", 0}};
}

Result<Json> publish(StepContext& context, const Json& args) {
    const DevicesSettings settings = devices_settings_from_json(args);
    return base::bool_or(args, "driver_changes", false) ? try_converge(context, settings)
                                                        : converge(context, settings);
}

Result<void> undo_publish(StepContext& context, const Json& /*args*/) {
    GPUHOST_CHECK(restore_offer(context.root, context.staging));
    publish_features(context);
    if (const auto offer = read_offer(context.root))
        confirm_offer(context, offer->id);
    return {};
}

Result<Json> withdraw(StepContext& context, const Json& /*args*/) {
    auto offer = read_offer(context.root);
    if (!offer)
        return Json{{"gpus", 0}};
    const std::size_t count = offer->gpus.size();
    std::string id = offer->id;
    if (offer->withdrawn.empty()) {
        offer->withdrawn = swap_reason;
        GPUHOST_TRY(written, write_offer(context.root, *std::move(offer)));
        id = std::move(written);
    }
    confirm_offer(context, id);
    return Json{{"gpus", count}};
}

Result<void> undo_withdraw(StepContext& context, const Json& args) {
    if (const auto offer = read_offer(context.root); !offer || offer->withdrawn.empty())
        return {};
    GPUHOST_CHECK(try_converge(context, devices_settings_from_json(args)));
    return {};
}

core::Step publish_step(const DevicesSettings& settings, std::string summary, bool driver_changes) {
    core::Step step{"devices.publish", std::move(summary), to_json(settings)};
    step.args["driver_changes"] = driver_changes;
    return step;
}

} // namespace

std::vector<core::StepKind> devices_step_kinds() {
    const auto deadline = std::chrono::minutes(5); // NVML initializes GPUs one after the other
    std::vector<core::StepKind> kinds = mark_step_kinds();
    kinds.push_back({.name = "devices.withdraw",
                     .sandbox = core::Sandbox::Devices,
                     .deadline = deadline,
                     .ends_with_boot = true,
                     .has_undo = true});
    kinds.push_back({.name = "devices.publish",
                     .sandbox = core::Sandbox::Devices,
                     .deadline = deadline,
                     .ends_with_boot = true,
                     .has_undo = true});
    return kinds;
}

std::vector<core::StepCode> devices_step_code() {
    core::StepCode withdrawing{.name = "devices.withdraw"};
    withdrawing.apply = withdraw;
    withdrawing.undo = undo_withdraw;
    core::StepCode publishing{.name = "devices.publish"};
    publishing.apply = publish;
    publishing.undo = undo_publish;
    std::vector<core::StepCode> code = mark_step_code();
    code.push_back(std::move(withdrawing));
    code.push_back(std::move(publishing));
    return code;
}

core::Step devices_publish_step(const DevicesSettings& settings, std::string summary) {
    return publish_step(settings, std::move(summary), false);
}

core::StepsAround devices_steps_around(const DevicesSettings& settings, bool offered) {
    if (!settings.serve && !offered)
        return {};
    core::Step withdrawal{"devices.withdraw", "withdraw the GPUs from the kubelet", to_json(settings)};
    withdrawal.passive = true; // its undo returns the GPUs
    return {{std::move(withdrawal)},
            {},
            {},
            {publish_step(settings,
                          settings.serve ? "offer the GPUs to the kubelet as " + settings.resource
                                         : "no longer offer GPUs to the kubelet",
                          true)}};
}

} // namespace gpuhost::devices
