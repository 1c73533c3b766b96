// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/image_place.hpp"

#include "daemon/ctl/progress.hpp"
#include "daemon/ctl/table.hpp"
#include "daemon/ctl/text.hpp"
#include "daemon/ctl/view.hpp"
#include "images/images_settings.hpp"
#include "images/pins.hpp"

#include <optional>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr unsigned most_rounds = 10; ///< the timer does the rest

/// The one error of all that went wrong; each is in the report that was printed.
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
        session.print(render_placement(session.out(), to_json(report)));
    return verdict(report);
}

/// When a bundle last came or went; 0 if none ever did.
std::uint64_t changed_us(const base::Root& root) {
    const auto st = root.stat(images::catalogue_directory);
    return st ? static_cast<std::uint64_t>(st->st_mtim.tv_sec) * 1'000'000 +
                    static_cast<std::uint64_t>(st->st_mtim.tv_nsec) / 1'000
              : 0;
}

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
    const Place place = [&](const images::Placer& placer, const images::Placer::OnText& on_text) {
        return placer.ensure_pinned(images::read_pins(root), dry_run, on_text);
    };
    auto seen = std::pair(changed_us(root), images::read_pins(root));
    GPUHOST_TRY(report, placed(session, root, place));
    // systemd tells of a bundle that comes only once this has ended, and not of one that came meanwhile; and somebody may
    // have pinned another image, which this run has just released.
    for (unsigned again = 0; !dry_run && again < most_rounds; ++again) {
        auto now = std::pair(changed_us(root), images::read_pins(root));
        if (now == seen)
            break;
        seen = std::move(now);
        GPUHOST_TRY(newer, placed(session, root, place));
        report = std::move(newer);
    }
    if (!dry_run)
        if (const auto kept = root.write_atomic(images::placement_file, base::dump(to_json(report))); !kept)
            session.note("Not kept for 'gpuhostctl status': " + kept.error().message + "\n");
    return conclude(session, report);
}

} // namespace gpuhost::ctl
