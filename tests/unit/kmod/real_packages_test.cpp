// SPDX-License-Identifier: Apache-2.0
// Debian's driver packages, if $GPUHOST_TEST_DEBS names a directory with them.
#include "tests/unit/kmod/store_fixture.hpp"

#include <cstdlib>

#include <dirent.h>

namespace gpuhost::kmod {
namespace {

class RealPackagesTest : public StoreTest {
  protected:
    void import_version(const std::string& version) {
        const char* directory = std::getenv("GPUHOST_TEST_DEBS");
        if (directory == nullptr)
            GTEST_SKIP() << "GPUHOST_TEST_DEBS is not set";
        const auto packages = base::Root::open(directory);
        ASSERT_TRUE(packages) << packages.error().message;
        auto made = context();
        base::Json names = base::Json::array();
        const auto present = packages->list("/");
        ASSERT_TRUE(present);
        for (const std::string& name : *present)
            if (name.find("_" + version + "-") != std::string::npos) {
                made.inputs.push_back(std::move(*packages->open_file("/" + name, O_RDONLY)));
                names.push_back(name);
            }
        if (names.empty())
            GTEST_SKIP() << directory << " has no packages of " << version;
        const auto staged = code("store.stage").apply(made, {{"names", names}});
        ASSERT_TRUE(staged) << staged.error().message;
        ASSERT_TRUE(apply("store.publish"));
        check(version);
    }

    void check(const std::string& version) {
        const Store now = store();
        ASSERT_EQ(now.versions.size(), 1U);
        const DriverVersion& driver = now.versions[0];
        EXPECT_EQ(driver.version, version);
        ASSERT_EQ(driver.userland.size(), 1U);
        EXPECT_TRUE(driver.userland[0].nvml);
        EXPECT_EQ(driver.userland[0].firmware, (std::vector<std::string>{"gsp_ga10x.bin", "gsp_tu10x.bin"}));
        const std::string& path = driver.userland[0].path;
        EXPECT_EQ(root_.read_link(path + "/lib/libcuda.so.1").value(), "libcuda.so." + version);
        EXPECT_EQ(root_.stat(path + "/bin/nvidia-smi")->st_mode & 07777U, 0555U);
        ASSERT_EQ(driver.sources.size(), 1U);
        EXPECT_EQ(driver.sources[0].flavour, "open");
        EXPECT_EQ(driver.sources[0].directory, "usr/src/nvidia-current-open-" + version);
    }
};

TEST_F(RealPackagesTest, ImportsDebiansPackagesOf535) {
    import_version("535.261.03");
}
TEST_F(RealPackagesTest, ImportsDebiansPackagesOf550) {
    import_version("550.163.01");
}

} // namespace
} // namespace gpuhost::kmod
