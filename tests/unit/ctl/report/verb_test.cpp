// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/report.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

class ReportTest : public ::testing::Test {
  protected:
    [[nodiscard]] ReportInput input() const { return {root_, nullptr, "a test", read_driver_files(root_)}; }
    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(ReportTest, LinksOutsideAMountedSystemAreIgnored) {
    tests::TempDir host;
    host.write("secret", "of the host");
    directory_.write("proc/driver/nvidia/version", "NVRM");
    ASSERT_EQ(::symlink(host.path("secret").c_str(), directory_.path("proc/driver/nvidia/file").c_str()), 0);
    ASSERT_EQ(::symlink(host.path().c_str(), directory_.path("proc/driver/nvidia/directory").c_str()), 0);
    EXPECT_EQ(report_driver_files(input()), "==> /proc/driver/nvidia/version <==\nNVRM\n");
}

TEST_F(ReportTest, PipesAreSkippedWithoutBlocking) {
    directory_.write("proc/driver/nvidia/version", "NVRM\n");
    ASSERT_EQ(::mkfifo(directory_.path("proc/driver/nvidia/pipe").c_str(), 0600), 0);
    EXPECT_EQ(report_driver_files(input()), "==> /proc/driver/nvidia/version <==\nNVRM\n");
}

TEST_F(ReportTest, LargeFileIsTruncated) {
    directory_.write("proc/driver/nvidia/a", std::string(70'000, 'x'));
    directory_.write("proc/driver/nvidia/gpus/0000:65:00.0/information", "Model: H100\n");
    const std::string text = report_driver_files(input());
    EXPECT_EQ(text, "==> /proc/driver/nvidia/a <==\n" + std::string(65536, 'x') +
                        "\n[the rest is left out]\n"
                        "==> /proc/driver/nvidia/gpus/0000:65:00.0/information <==\nModel: H100\n");
}

TEST_F(ReportTest, HangingDriverFilesAreOmitted) {
    const ReportInput hanging{root_, nullptr, "a test", {"", "/proc/driver/nvidia/version"}};
    for (const std::string& text : {report_doctor(hanging), report_inventory(hanging)})
        EXPECT_NE(text.find("reading '/proc/driver/nvidia/version' timed out"), std::string::npos) << text;
}

TEST_F(ReportTest, HasModprobeRulesOfAllDirectories) {
    for (const char* directory : {"etc", "run", "usr/local/lib", "usr/lib"})
        directory_.write(std::string(directory) + "/modprobe.d/x.conf",
                         std::string("# x\nblacklist ") + directory + "\n");
    ASSERT_EQ(::symlink("usr/lib", directory_.path("lib").c_str()), 0);
    const std::string text = report_modules(input());
    for (const char* directory : {"etc", "run", "usr/local/lib", "usr/lib"})
        EXPECT_NE(text.find(std::string("# /") + directory + "/modprobe.d/x.conf\nblacklist " + directory),
                  std::string::npos)
            << text;
    EXPECT_EQ(text.find("# /lib/modprobe.d"), std::string::npos) << "the directory of a link is not repeated";
}

TEST_F(ReportTest, ListsPackagesOrReportsMissingDatabases) {
    EXPECT_EQ(report_packages(input()), "no packages found by dpkg or rpm\n");
    directory_.write("var/lib/dpkg/status",
                     "Package: nvidia-smi\nStatus: install ok installed\nVersion: 1.2\n\n"
                     "Package: hello\nStatus: install ok installed\nVersion: 3\n\n");
    EXPECT_EQ(report_packages(input()), "nvidia-smi 1.2\n");
}

} // namespace
} // namespace gpuhost::ctl
