// SPDX-License-Identifier: Apache-2.0
#include "kmod/driver_component.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

TEST(DriverComponent, ConvergesAtStartUnlessSomebodyElsesDriverRuns) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    const DriverComponent component(root);
    Observed observed;
    observed.kernel = "6.1.0-50-amd64";
    EXPECT_TRUE(component.converge_at_start(to_json(observed))) << "none runs: Version= may want one";
    observed.loaded_version = "535.261.03";
    EXPECT_FALSE(component.converge_at_start(to_json(observed)));
    observed.store.selected[observed.kernel] = {{"550.163.01", "u", "m"}, {}};
    EXPECT_FALSE(component.converge_at_start(to_json(observed)));
    observed.store.selected[observed.kernel] = {{"535.261.03", "u", "m"}, {}};
    EXPECT_TRUE(component.converge_at_start(to_json(observed)));
}

} // namespace
} // namespace gpuhost::kmod
