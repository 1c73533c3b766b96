// SPDX-License-Identifier: Apache-2.0
// Parses a geometry of MIG instances and the answer to its re-creation, and plans one from the other's GPUs.
#include "daemon/base/json.hpp"
#include "daemon/devices/mig/restore_plan.hpp"
#include "daemon/devices/mig/restored.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

namespace {

devices::PossiblePlacements placements_of(const devices::MigGpu& gpu) {
    devices::PossiblePlacements possible;
    for (const devices::GpuInstance& instance : gpu.instances)
        possible[instance.profile].push_back(instance.placement);
    return possible;
}

void check(const devices::MigGpu& saved, const devices::MigGpu& present) {
    const auto possible = placements_of(saved);
    const auto plan = devices::plan_restore(saved, present, possible);
    fuzz::require(plan.problems.empty() || plan.creations.empty(), "a problem prevents all creations");
    if (saved.problem.empty()) {
        const auto nothing = devices::plan_restore(saved, saved, possible);
        fuzz::require(nothing.creations.empty() && nothing.problems.empty(), "what exists is not created");
        fuzz::require(!saved.split || nothing.kept == devices::count_devices(saved), "what exists is kept");
    }
    (void)devices::differences(saved, present);
    (void)devices::obstacles(saved);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto value = base::parse_json(fuzz::text_of(data, size), "input");
    if (!value)
        return 0;
    if (const auto geometry = devices::geometry_from_json(*value)) {
        const auto again = devices::geometry_from_json(to_json(*geometry));
        fuzz::require(again && *again == *geometry, "a geometry is its own normal form");
        for (const devices::MigGpu& saved : *geometry)
            for (const devices::MigGpu& present : *geometry)
                check(saved, present);
    }
    if (const auto restored = devices::restored_from_json(*value)) {
        const auto again = devices::restored_from_json(to_json(*restored));
        fuzz::require(again && *again == *restored, "an answer is its own normal form");
    }
    return 0;
}
