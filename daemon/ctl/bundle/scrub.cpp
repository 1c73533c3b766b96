// SPDX-License-Identifier: Apache-2.0
#include "images/store/scrub.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/byte_meter.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <array>
#include <optional>
#include <set>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::array options{root_option, option::json};

/// Arguments of ioprio_set(2) for this process and class idle. The kernel's header is not valid C++.
constexpr int ioprio_who_process = 1;
constexpr int ioprio_idle = 3 << 13;

/// Makes this process use only idle disk and CPU time. If the kernel does not support that, the priority is
/// unchanged.
void yield_to_jobs() {
    const sched_param none{};
    (void)::sched_setscheduler(0, SCHED_IDLE, &none);
    (void)::syscall(SYS_ioprio_set, ioprio_who_process, 0, ioprio_idle);
}

std::string line_of(const images::Damage& damage) {
    return "sha256:" + damage.blob.hex + " of " + base::join(damage.bundles, ", ") + ": " +
           printable(damage.why) + (damage.removed || damage.missing ? "" : "; not removed") + "\n";
}

/// Returns the hint for damaged blobs: which bundles to import again, and what to do about blobs that were
/// not removed.
std::string hint_of(const images::Scrub& scrub) {
    std::set<std::string> gone;
    bool stays = false;
    for (const images::Damage& damage : scrub.damages)
        if (damage.removed || damage.missing)
            gone.insert(damage.bundles.begin(), damage.bundles.end());
        else
            stays = true;
    const std::vector<std::string> names(gone.begin(), gone.end());
    std::string hint = names.empty() ? "" : "Import these bundles again: " + base::join(names, ", ") + ".";
    if (stays && ::geteuid() != 0)
        hint += std::string(hint.empty() ? "" : " ") +
                "Remove the damaged blobs as root: systemctl start gpuhost-scrub.";
    else if (stays)
        hint += std::string(hint.empty() ? "" : " ") +
                "Look for errors of the disk in the kernel's log: journalctl -k.";
    return hint;
}

Result<int> verdict(const images::Scrub& scrub) {
    if (!scrub.damages.empty())
        return base::fail(Errc::BadContent,
                          plural(scrub.damages.size(), "blob", "blobs") + " of " +
                              std::to_string(scrub.blobs) + " damaged or missing",
                          hint_of(scrub));
    if (!scrub.problems.empty())
        return base::fail(Errc::BadContent, scrub.problems.front(), "Import that bundle again.");
    return 0;
}

void show(const Session& session, const images::Scrub& scrub) {
    if (session.wants_json())
        return session.print_json(to_json(scrub));
    for (const images::Damage& damage : scrub.damages)
        session.print(fit(session.out(), line_of(damage)));
    if (scrub.damages.empty())
        session.print(fit(session.out(), "Read " + plural(scrub.blobs, "blob", "blobs") + ", " +
                                             human_bytes(scrub.bytes) + ": no damage found.\n"));
}

Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    yield_to_jobs();
    GPUHOST_TRY(scrubber, images::Scrubber::open(root));
    std::optional<ByteMeter> meter(std::in_place, session.err(), "reading", scrubber.total_bytes());
    const images::Scrub scrub = scrubber.run([&](std::uint64_t n) { meter->add(n); });
    meter.reset(); // clears the bar before the report is printed
    if (const auto kept = images::write_scrub(root, scrub); !kept && scrub.blobs > 0)
        session.warn("Result not saved for 'gpuhostctl status': " + kept.error().message + "\n");
    show(session, scrub);
    return verdict(scrub);
}

constexpr std::array examples{Example{"bundle scrub", "read all blobs again, and find damaged ones"}};

} // namespace

const Verb bundle_scrub_verb{
    "bundle scrub",
    "",
    "read all blobs again and remove damaged ones",
    "Reads every blob in the store again from the disk, at idle priority, and compares it with its digest. A "
    "damaged blob is removed, so that it is no longer served, and its bundles are named. Importing them "
    "again restores only the missing blobs; until then 'gpuhostctl status' reports them. gpuhost-scrub.timer "
    "runs it once a week. Only root and the owner of the store can remove blobs. Needs no daemon.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
