// SPDX-License-Identifier: Apache-2.0
#include "images/host/placement.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/json.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/host/crio_pins.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

using State = Placement::State;

/// The value of PullSource::hosts, a directory in the form of certs.d. The client ctr reads it; since version
/// 2, containerd itself reads it.
constexpr std::string_view hosts_directory = "/run/gpuhost/hosts.d";
constexpr std::size_t placement_limit = 16U << 20U;

Json to_json(const Placement& placement) {
    Json json{{"name", placement.image.name},
              {"digest", placement.image.digest},
              {"pinned", placement.image.pinned},
              {"runtime", placement.runtime},
              {"state", name(placement.state)}};
    if (!placement.why.empty())
        json["why"] = placement.why;
    return json;
}

/// Reports whether the image has content for this host's platform. An import of an image for several
/// platforms writes only the content for the host's platform.
bool is_for(const HostFacts& host, const Claim& claim) {
    return claim.platforms == nullptr || claim.platforms->empty() ||
           std::any_of(claim.platforms->begin(), claim.platforms->end(),
                       [&](const std::string& platform) { return host.is(platform); });
}

bool fits_any(const std::vector<Pin>& pins, const std::string& image) {
    return std::any_of(pins.begin(), pins.end(), [&](const Pin& pin) { return pin.fits(image); });
}

std::string not_here(const Reference& reference, const MirrorSettings& mirrors) {
    return "no bundle on this host has image '" + reference.text() + "'" +
           (mirrors.enable && !mirrors.upstream ? "" : "; a pod pulls it from " + reference.registry);
}

} // namespace

std::string_view name(Placement::State state) noexcept {
    switch (state) {
    case State::Present:
        return "present";
    case State::Placed:
        return "placed";
    case State::Wanted:
        return "wanted";
    case State::Failed:
        return "failed";
    }
    return "";
}

bool PlacementReport::is_good() const {
    return problems.empty() &&
           std::none_of(placements.begin(), placements.end(),
                        [](const Placement& placement) { return placement.state == State::Failed; });
}

PlacementReport Placer::new_report() const {
    PlacementReport report;
    report.checked = base::realtime_us() / 1'000'000;
    for (const auto& runtime : runtimes_.found)
        report.runtimes.push_back(runtime->socket());
    return report;
}

Result<void> Placer::place_one(const ImageRuntime& runtime, const WantedImage& image,
                               const OnText& on_text) const {
    const auto say = [&](const std::string& text) {
        if (on_text)
            on_text(image.name + ": " + text);
    };
    say("pulling");
    // Pulls only from this host's registry, whatever certs.d has: the image must be that of the bundle.
    const MirrorSettings ours{true, mirrors_.address, false};
    GPUHOST_CHECK(root_->make_directories(std::string(hosts_directory) + "/_default"));
    GPUHOST_CHECK(
        root_->write_atomic(std::string(hosts_directory) + "/_default/hosts.toml", containerd_hosts(ours)));
    GPUHOST_CHECK(runtime.pull(image, {mirrors_.address, root_->host_path(hosts_directory)}));
    if (image.pinned)
        GPUHOST_CHECK(runtime.pin(image.name));
    GPUHOST_TRY(ready, runtime.ready({image}));
    if (ready.count(image.name) == 0)
        return base::fail(Errc::Failed, "pulled, but not ready in the runtime");
    return {};
}

void Placer::place(const ImageRuntime& runtime, const std::vector<WantedImage>& wanted, bool dry_run,
                   const OnText& on_text, PlacementReport& report) const {
    const auto ready = runtime.ready(wanted);
    if (!ready) {
        report.problems.push_back(ready.error().message);
        return;
    }
    for (const WantedImage& image : wanted) {
        Placement placement{image, runtime.socket(), State::Present, {}};
        if (ready->count(image.name) == 0)
            placement.state = State::Wanted;
        if (placement.state == State::Wanted && !dry_run) {
            const auto placed = place_one(runtime, image, on_text);
            placement.state = placed ? State::Placed : State::Failed;
            placement.why = placed ? "" : placed.error().message;
        }
        report.placements.push_back(std::move(placement));
    }
}

void Placer::release(const ImageRuntime& runtime, const std::vector<Pin>& pins,
                     PlacementReport& report) const {
    const auto pinned = runtime.pinned();
    if (!pinned) {
        if (!pins.empty()) // without pins, there is nothing to keep in an unreachable runtime
            report.problems.push_back(pinned.error().message);
        return;
    }
    for (const std::string& image : *pinned) {
        if (fits_any(pins, image))
            continue;
        if (const auto done = runtime.unpin(image); !done)
            report.problems.push_back(done.error().message);
    }
}

void Placer::add_runtime_problems(PlacementReport& report, const OnText& on_text) const {
    const bool is_somewhere = report.is_good() && !report.placements.empty();
    for (const std::string& problem : runtimes_.problems)
        if (!is_somewhere)
            report.problems.push_back(problem);
        else if (on_text)
            on_text(problem);
}

void Placer::release_from_crio(const std::vector<Pin>& pins, PlacementReport& report) const {
    const auto done =
        CrioPins(*root_).retain([&](const std::string& image) { return fits_any(pins, image); });
    if (!done)
        report.problems.push_back(done.error().message);
}

PlacementReport Placer::ensure(const Reference& reference, PullPolicy policy, bool dry_run,
                               const OnText& on_text) const {
    PlacementReport report = new_report();
    const auto claim = references_.find(reference);
    const bool by_digest = !reference.digest.empty();
    const bool here =
        claim || (by_digest && references_.has_repository(reference.registry + "/" + reference.repository) &&
                  BlobStore(*root_).open(digest_hex(reference.digest)).has_value());
    const std::string digest = by_digest ? reference.digest : claim ? "sha256:" + claim->hex : "";
    const WantedImage wanted{reference.text(), digest, false, policy != PullPolicy::Always};
    if (policy == PullPolicy::Always && !here) {
        report.problems = {not_here(reference, mirrors_)};
        return report;
    }
    for (const auto& runtime : runtimes_.found) {
        const std::size_t before = report.placements.size();
        place(*runtime, {wanted}, dry_run || policy == PullPolicy::Never || !here, on_text, report);
        if (report.placements.size() == before || report.placements.back().state != State::Wanted)
            continue;
        Placement& placement = report.placements.back();
        if (policy != PullPolicy::Never && here)
            continue; // this is a dry run
        placement.state = State::Failed;
        placement.why = policy == PullPolicy::Never ? "not present, and the pull policy is Never"
                                                    : not_here(reference, mirrors_);
    }
    add_runtime_problems(report, on_text);
    return report;
}

PlacementReport Placer::ensure_pinned(const std::vector<std::string>& words, bool dry_run,
                                      const OnText& on_text) const {
    if (!dry_run)
        // Notifies CRI-O before the pulls, which may last hours. Ignores errors, because retain() below does
        // this again.
        (void)CrioPins(*root_).notify();
    PlacementReport report = new_report();
    const std::vector<Pin> pins = pins_of(words);
    if (!pins.empty()) // without pins, nothing is to be placed in an unreachable runtime
        report.problems = runtimes_.problems;
    for (const base::Error& problem : references_.problems())
        report.problems.push_back(problem.message);
    std::vector<WantedImage> wanted;
    std::vector<bool> fits(pins.size());
    const HostFacts host{host_platform(*root_), {}};
    for (const Claim& claim : references_.all()) {
        const std::string image = claim.name();
        bool any = false;
        for (std::size_t i = 0; i < pins.size(); ++i)
            if (pins[i].fits(image))
                any = fits[i] = true;
        if (any && is_for(host, claim))
            wanted.push_back({image, "sha256:" + claim.hex, true});
    }
    for (std::size_t i = 0; i < pins.size(); ++i)
        if (!fits[i])
            report.absent.push_back(words[i]);
    for (const auto& runtime : runtimes_.found) {
        if (!wanted.empty())
            place(*runtime, wanted, dry_run, on_text, report);
        if (!dry_run)
            release(*runtime, pins, report);
    }
    if (!dry_run)
        release_from_crio(pins, report);
    return report;
}

Json to_json(const PlacementReport& report) {
    Json placements = Json::array();
    for (const Placement& placement : report.placements)
        placements.push_back(to_json(placement));
    return {{"checked", report.checked},
            {"runtimes", report.runtimes},
            {"images", std::move(placements)},
            {"absent", report.absent},
            {"problems", report.problems}};
}

Json last_placement(const base::Root& root) {
    const auto text = root.read(placement_file, placement_limit);
    auto placement = text ? base::parse_json(*text, "placement.json") : base::fail(text.error());
    return placement && placement->is_object() ? std::move(*placement) : Json();
}

} // namespace gpuhost::images
