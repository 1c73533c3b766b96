// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_component.hpp"
#include "tests/unit/kmod/store_fixture.hpp"

namespace gpuhost::kmod {
namespace {

TEST(DriverComponent, ConvergesAtStartUnlessAForeignDriverRuns) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    const DriverComponent component(root);
    Observed observed;
    observed.kernel = "6.1.0-50-amd64";
    EXPECT_TRUE(component.converge_at_start(observed)) << "no driver runs: Version= may name one";
    observed.loaded_version = "535.261.03";
    EXPECT_FALSE(component.converge_at_start(observed));
    observed.store.selected[observed.kernel] = {{"550.163.01", "u", "m"}, {}};
    EXPECT_FALSE(component.converge_at_start(observed));
    observed.store.selected[observed.kernel] = {{"535.261.03", "u", "m"}, {}};
    EXPECT_TRUE(component.converge_at_start(observed));
}

class DriverComponentTest : public StoreTest {
  protected:
    std::string wrong_files() { return document()["wrong_files"].dump(); }
    /// Returns what status shows of the host.
    base::Json document() {
        DriverComponent component(root_);
        const auto observed = component.observe(core::Settings({driver_setting_keys()}));
        EXPECT_TRUE(observed);
        return observed ? component.document(*observed) : base::Json();
    }
};

TEST_F(DriverComponentTest, MissingSelectionFilesAreObserved) {
    ASSERT_TRUE(import(packages()));
    ASSERT_TRUE(import(modules()));
    directory_.write("proc/sys/kernel/osrelease", test_kernel + "\n");
    const DriverVersion version = store().versions[0];
    const Driver driver{{test_version, version.userland[0].digest, version.modules[0].digest},
                        version.userland[0].path,
                        version.modules[0].path};
    ASSERT_TRUE(write_selection(root_, test_kernel, {driver.generation, std::nullopt}));
    for (const content::FileOperation& file : generation_files(driver))
        ASSERT_TRUE(perform(root_, file));
    for (const content::FileOperation& file :
         selection_files(test_kernel, driver, tools_of(root_, driver), {}, modprobe_options({})).before_index)
        ASSERT_TRUE(perform(root_, file));
    EXPECT_EQ(wrong_files(), "[]");
    for (const char* path : {"/etc/ld.so.conf.d/gpuhost.conf", "/usr/bin/nvidia-smi"}) {
        ASSERT_TRUE(root_.remove(path));
        EXPECT_NE(wrong_files().find(path), std::string::npos) << wrong_files();
    }
}

TEST_F(DriverComponentTest, ConsoleAndRemovedKernelsAreObserved) {
    directory_.write("proc/sys/kernel/osrelease", test_kernel + "\n");
    directory_.write("sys/class/graphics/fb0/name", "nvidia-drmdrmfb\n");
    directory_.write("sys/class/vtconsole/vtcon1/name", "(M) frame buffer device\n");
    directory_.write("sys/class/vtconsole/vtcon1/bind", "1\n");
    ASSERT_TRUE(write_selection(root_, "6.1.0-40-amd64", {{test_version, "", "m"}, std::nullopt}));
    EXPECT_EQ(document()["console"], "vtcon1");
    EXPECT_EQ(document()["removed_kernels"].at(0)["kernel"], "6.1.0-40-amd64");
    directory_.write("sys/class/vtconsole/vtcon1/bind", "0\n");
    directory_.write("lib/modules/6.1.0-40-amd64/modules.builtin", "");
    EXPECT_EQ(document()["console"], "");
    EXPECT_TRUE(document()["removed_kernels"].empty());
}

} // namespace
} // namespace gpuhost::kmod
