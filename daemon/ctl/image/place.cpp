// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/image/place.hpp"

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/progress.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "images/host/crio_pins.hpp"
#include "images/host/crio_reload.hpp"
#include "images/images_settings.hpp"
#include "images/store/cached_catalogue.hpp"
#include "images/store/pins.hpp"

#include <optional>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr unsigned most_rounds = 10; ///< gpuhost-images.timer handles changes after these rounds

/// Fails with the first problem of the report; the printed report has all of them.
Result<int> verdict(const images::PlacementReport& report) {
    if (report.is_good())
        return 0;
    for (const std::string& problem : report.problems)
        return base::fail(Errc::NotFound, problem);
    for (const images::Placement& placement : report.placements)
        if (placement.state == images::Placement::State::Failed)
            return base::fail(Errc::Failed, placement.image.name + " is not in " + placement.runtime + ": " +
                                                placement.why);
    return 0;
}

Result<images::PlacementReport> placed(const Session& session, const base::Root& root, const Place& place) {
    GPUHOST_TRY(placer, open_placer(root));
    return place(placer, [&](const std::string& text) { session.note(printable(text) + "\n"); });
}

Result<int> conclude(const Session& session, const images::PlacementReport& report) {
    if (session.wants_json())
        session.print_json(to_json(report));
    else
        session.page(render_placement(session.out(), to_json(report)));
    return verdict(report);
}

/// State that other processes may change while images are pulled.
struct Seen {
    std::uint64_t catalogue_us = 0;
    std::vector<std::string> pins;
    /// Time of the last change that CRI-O must still load; 0: none.
    std::uint64_t reload_pending_us = 0;

    explicit Seen(const base::Root& root)
        : catalogue_us(images::catalogue_changed_us(root).value_or(0)), pins(images::read_pins(root)),
          reload_pending_us(images::CrioReload::marked_us(root)) {}
    /// Returns true if nothing has changed since `before`, when the last run started.
    [[nodiscard]] bool is_done(const Seen& before) const {
        return catalogue_us == before.catalogue_us && pins == before.pins &&
               (reload_pending_us == 0 || reload_pending_us == before.reload_pending_us);
    }
};

} // namespace

Result<base::Root> chosen_root(const Session& session) {
    return base::Root::open(session.arguments().value(place_root_option).value_or("/"));
}

Result<images::Placer> open_placer(const base::Root& root) {
    const core::Settings settings =
        core::load_settings(root, {images::images_setting_keys(), images::mirror_setting_keys()}).settings;
    GPUHOST_TRY(references, images::References::load(root));
    return images::Placer(root, std::move(references),
                          images::find_image_runtimes(root, images::runtime_settings(settings)),
                          images::mirror_settings(settings));
}

Result<int> place_images(const Session& session, const base::Root& root, const Place& place) {
    GPUHOST_TRY(report, placed(session, root, place));
    return conclude(session, report);
}

Result<int> place_pinned(const Session& session, const base::Root& root, bool dry_run) {
    if (!images::images_managed(core::load_settings(root, {images::images_setting_keys()}).settings)) {
        session.note("Pinned images are left alone (Manage=no in section [Images]).\n");
        if (!dry_run)
            GPUHOST_CHECK(images::CrioPins(root).notify()); // notifies CRI-O of changed mirrors
        if (session.wants_json())
            session.print_json(to_json(images::PlacementReport{}));
        return 0;
    }
    const Place place = [&](const images::Placer& placer, const images::Placer::OnText& on_text) {
        return placer.ensure_pinned(images::read_pins(root), dry_run, on_text);
    };
    Seen seen(root);
    GPUHOST_TRY(report, placed(session, root, place));
    // systemd does not start this unit again while it runs. Meanwhile bundles may be imported, and CRI-O may
    // need a notification. An image that this run has just released may also be pinned again. Repeat until
    // nothing has changed.
    for (unsigned again = 0; !dry_run && again < most_rounds; ++again) {
        Seen now(root);
        if (now.is_done(seen))
            break;
        seen = std::move(now);
        GPUHOST_TRY(newer, placed(session, root, place));
        report = std::move(newer);
    }
    if (!dry_run)
        if (const auto kept = root.write_atomic(images::placement_file, base::dump(to_json(report))); !kept)
            session.warn("Result not saved for 'gpuhostctl status': " + kept.error().message + "\n");
    return conclude(session, report);
}

} // namespace gpuhost::ctl
