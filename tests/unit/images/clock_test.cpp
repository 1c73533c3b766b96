// SPDX-License-Identifier: Apache-2.0
// Clocks that are years off, on the host and where a bundle was created. (cms_test.cpp tests the validity of
// certificates.)
#include "daemon/base/clock.hpp"
#include "images/store/references.hpp"
#include "tests/unit/images/hostile_input.hpp"

#include <time.h>

namespace {
time_t now; // NOLINT: the time that the seam below returns; 0: the real time
}

extern "C" {
int __real_clock_gettime(clockid_t clock, timespec* time);
int __wrap_clock_gettime(clockid_t clock, timespec* time) {
    const int done = __real_clock_gettime(clock, time);
    if (clock == CLOCK_REALTIME && now != 0)
        time->tv_sec = now;
    return done;
}
}

namespace gpuhost::images {
namespace {

constexpr std::uint64_t year = 365 * 86'400;

class Clock : public HostileInput {
  protected:
    ~Clock() override { now = 0; }

    /// Imports a bundle with another image of the same name. Returns its digest.
    std::string bring(const std::string& name, std::uint64_t created) {
        tests::TestBundle bundle;
        bundle.manifest.name = name;
        bundle.manifest.created = created;
        const std::string content = "image of " + name;
        const std::string hex = bundle.add(content);
        bundle.manifest.images.push_back({"r.io/app:v1", hex, manifest_type, content.size(), {}});
        EXPECT_TRUE(receive(bundle, site_));
        const auto received = received_bundle(root_);
        EXPECT_TRUE(commit_bundle(root_, received->value(), trust_, host_));
        EXPECT_TRUE(finalize_import(root_, received->value().digest));
        return hex;
    }
    [[nodiscard]] std::string winner() const {
        return References::load(root_)->find(parse_reference("r.io/app:v1").value())->hex;
    }
};

TEST_F(Clock, HostClockDoesNotAffectTagOrder) {
    now = static_cast<time_t>(40 * year);
    const std::string newer = bring("newer", 50 * year);
    now = static_cast<time_t>(200 * year);
    (void)bring("older", 49 * year);
    EXPECT_EQ(Catalogue(root_).record("older")->imported, 200 * year);
    EXPECT_EQ(winner(), newer) << "the other one was imported later, with a later host clock";
    now = 1;
    const std::string newest = bring("newest", 51 * year);
    EXPECT_EQ(winner(), newest) << "the host clock dates it before all others";
}

TEST_F(Clock, FutureBundleIsImportedWithAWarning) {
    const std::uint64_t today = base::realtime_us() / 1'000'000;
    const std::string future = bring("future", today + 100 * year);
    (void)bring("today", today);
    EXPECT_EQ(winner(), future);
    BundleManifest manifest;
    manifest.name = "future";
    manifest.created = 4'102'444'800;
    const std::string warning = clock_warning(manifest, 1'700'000'000);
    EXPECT_NE(warning.find("bundle 'future' is dated 2100-01-01 00:00 UTC"), std::string::npos) << warning;
    EXPECT_NE(warning.find("this host's clock says 2023-11-14 22:13 UTC"), std::string::npos) << warning;
    for (const std::uint64_t created : {0U, 1'700'000'000U, 1'700'000'000U + 86'400U})
        EXPECT_EQ(clock_warning({"site", 1, created, {}, {}, {}}, 1'700'000'000), "") << created;
    manifest.created = std::uint64_t{1} << 53U;
    EXPECT_NE(clock_warning(manifest, 0), "");
}

} // namespace
} // namespace gpuhost::images
