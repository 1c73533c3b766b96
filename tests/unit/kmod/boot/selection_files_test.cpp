// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "kmod/boot/selection_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

const std::string kernel = "6.1.0-50-amd64";

/// A tree with two drivers in the store. Each file contains its version.
class Selecting : public testing::Test {
  protected:
    Selecting() : root_(directory_.root()) {
        directory_.write("usr/bin/sh", "");
        directory_.write("lib/modules/" + kernel + "/modules.dep", "");
    }

    Driver add(const std::string& version, const std::vector<std::string>& tools) {
        const std::string base = "/var/lib/gpuhost/driver/" + version;
        Driver driver{
            {version, "user" + version, "mods" + version}, base + "/userland/u", base + "/modules/m"};
        directory_.write(driver.modules + "/nvidia.ko", version);
        directory_.write(driver.userland + "/lib/libnvidia-ml.so.1", version);
        directory_.write(driver.userland + "/firmware/gsp_ga10x.bin", version);
        for (const std::string& tool : tools)
            directory_.write(driver.userland + "/bin/" + tool, version);
        return driver;
    }

    /// Returns the version that a host with this tree boots: modules by the link, libraries by ld.so.conf.d.
    std::string boots() const {
        const std::string modules =
            root_.read("/lib/modules/" + kernel + "/updates/gpuhost/nvidia.ko").value_or("none");
        const std::string library =
            root_.read("/var/lib/gpuhost/driver/current/lib/libnvidia-ml.so.1").value_or("none");
        return modules == library ? modules : "modules " + modules + " with libraries " + library;
    }

    std::vector<content::FileOperation> operations(const std::optional<Driver>& to,
                                                   const std::optional<Driver>& from) const {
        std::vector<content::FileOperation> all;
        if (to)
            all = generation_files(*to);
        const SelectionFiles files = selection_files(kernel, to, tools_of(root_, to), tools_of(root_, from),
                                                     to ? modprobe_options({}) : "");
        all.insert(all.end(), files.before_index.begin(), files.before_index.end());
        all.insert(all.end(), files.after_index.begin(), files.after_index.end());
        return all;
    }

    void select(const std::optional<Driver>& to, const std::optional<Driver>& from) const {
        for (const content::FileOperation& operation : operations(to, from))
            ASSERT_TRUE(perform(root_, operation)) << operation.path;
    }

    tests::TempDir directory_;
    base::Root root_;
};

TEST_F(Selecting, EveryInterruptionBootsASingleVersion) {
    const Driver old = add("535.261.03", {"nvidia-smi", "nvidia-old"});
    const Driver next = add("550.163.01", {"nvidia-smi", "nvidia-new"});
    select(old, std::nullopt);
    ASSERT_EQ(boots(), "535.261.03");
    const auto there = operations(next, old);
    const auto back = operations(old, next);
    bool switched = false;
    for (std::size_t cut = 0; cut <= there.size(); ++cut) {
        for (std::size_t i = 0; i < cut; ++i)
            ASSERT_TRUE(perform(root_, there[i]));
        switched = switched || boots() == "550.163.01";
        EXPECT_EQ(boots(), switched ? "550.163.01" : "535.261.03")
            << "after " << cut << " of " << there.size();
        // the undo from each of these states restores the first one
        if (cut < there.size()) {
            for (const content::FileOperation& operation : back)
                ASSERT_TRUE(perform(root_, operation));
            EXPECT_EQ(boots(), "535.261.03");
            switched = false;
        }
    }
    EXPECT_EQ(boots(), "550.163.01");
    EXPECT_EQ(root_.read("/usr/bin/nvidia-new").value_or(""), "550.163.01");
    EXPECT_FALSE(root_.exists("/usr/bin/nvidia-old"));
}

TEST_F(Selecting, ModulesAndLibrariesChangeInOneOperation) {
    const Driver old = add("535.261.03", {});
    const Driver next = add("550.163.01", {});
    select(old, std::nullopt);
    int changes = 0;
    std::string before = boots();
    for (const content::FileOperation& operation : operations(next, old)) {
        ASSERT_TRUE(perform(root_, operation));
        changes += boots() != before ? 1 : 0;
        before = boots();
    }
    EXPECT_EQ(changes, 1);
}

TEST_F(Selecting, FirstDriverIsUndoneCompletely) {
    const Driver driver = add("535.261.03", {"nvidia-smi"});
    select(driver, std::nullopt);
    select(std::nullopt, driver);
    EXPECT_EQ(boots(), "none");
    for (const char* path :
         {"/usr/bin/nvidia-smi", "/etc/ld.so.conf.d/gpuhost.conf", "/etc/modprobe.d/gpuhost.conf",
          "/var/lib/gpuhost/driver/current", "/lib/modules/6.1.0-50-amd64/updates/gpuhost"})
        EXPECT_FALSE(root_.exists(path)) << path;
}

TEST_F(Selecting, ForeignFilesAreKept) {
    const Driver driver = add("535.261.03", {"nvidia-smi"});
    directory_.write("usr/bin/nvidia-smi", "a package's");
    for (const content::FileOperation& operation : operations(driver, std::nullopt))
        if (const auto done = perform(root_, operation); !done) {
            EXPECT_EQ(done.error().code, base::Errc::AlreadyExists);
        }
    EXPECT_EQ(directory_.read("usr/bin/nvidia-smi"), "a package's");
}

constexpr const char* fabric_drop_in = "/etc/systemd/system/nvidia-fabricmanager.service.d/50-gpuhost.conf";

TEST_F(Selecting, PackagedUnitGetsTheDriversProgram) {
    const Driver old = add("535.261.03", {"nvidia-smi"});
    const Driver next =
        add("550.163.01", {"nvidia-smi", "nv-fabricmanager", "nvidia-imex", "nvidia-imex-ctl"});
    directory_.write("usr/bin/nv-fabricmanager", "a package's");
    directory_.write("usr/bin/nvidia-imex-ctl", "a package's");
    select(old, std::nullopt);
    EXPECT_FALSE(root_.exists(fabric_drop_in));
    select(next, old);
    EXPECT_EQ(root_.read(fabric_drop_in).value_or(""), "# Written by gpuhostd; changes are lost.\n[Service]\n"
                                                       "BindReadOnlyPaths=-/var/lib/gpuhost/driver/current/"
                                                       "bin/nv-fabricmanager:/usr/bin/nv-fabricmanager\n");
    EXPECT_EQ(directory_.read("usr/bin/nv-fabricmanager"), "a package's");
    EXPECT_EQ(root_.read("/usr/bin/nvidia-imex").value_or(""), "550.163.01") << "no other package has it";
    EXPECT_EQ(directory_.read("usr/bin/nvidia-imex-ctl"), "a package's");
    select(next, next);
    EXPECT_FALSE(root_.exists("/etc/systemd/system/nvidia-imex.service.d/50-gpuhost.conf"))
        << "the link does not belong to a package";
    select(old, next);
    EXPECT_FALSE(root_.exists(fabric_drop_in)) << "the package's program works with this driver again";
    EXPECT_FALSE(root_.exists("/usr/bin/nvidia-imex"));
}

TEST_F(Selecting, DropInIsTheSameForEachDriver) {
    const Driver one = add("550.163.01", {"nv-fabricmanager", "nvidia-fabricmanager-start.sh"});
    const Driver other = add("570.1", {"nv-fabricmanager"});
    for (const char* name : {"nv-fabricmanager", "nvidia-fabricmanager-start.sh"})
        directory_.write(std::string("usr/bin/") + name, "a package's");
    select(one, std::nullopt);
    const std::string drop_in = root_.read(fabric_drop_in).value_or("");
    select(other, one);
    EXPECT_EQ(root_.read(fabric_drop_in).value_or(""), drop_in);
    EXPECT_EQ(directory_.read("usr/bin/nvidia-fabricmanager-start.sh"), "a package's");
    select(std::nullopt, other);
    EXPECT_FALSE(root_.exists(fabric_drop_in)) << "released";
    EXPECT_EQ(directory_.read("usr/bin/nv-fabricmanager"), "a package's");
}

TEST_F(Selecting, DropInIsRemovedWithThePackage) {
    const Driver driver = add("550.163.01", {"nv-fabricmanager"});
    directory_.write("usr/bin/nv-fabricmanager", "a package's");
    select(driver, std::nullopt);
    ASSERT_TRUE(root_.exists(fabric_drop_in));
    ASSERT_TRUE(root_.remove("/usr/bin/nv-fabricmanager"));
    select(driver, driver);
    EXPECT_FALSE(root_.exists(fabric_drop_in));
    EXPECT_EQ(root_.read("/usr/bin/nv-fabricmanager").value_or(""), "550.163.01");
}

TEST_F(Selecting, OwnFilesAreRecognized) {
    ASSERT_TRUE(root_.symlink_atomic("/var/lib/gpuhost/driver/current/bin/x", "/usr/bin/ours"));
    ASSERT_TRUE(root_.symlink_atomic("/etc/alternatives/x", "/usr/bin/theirs"));
    directory_.write("etc/modprobe.d/gpuhost.conf", modprobe_options({}));
    EXPECT_TRUE(content::is_ours(root_, "/usr/bin/ours"));
    EXPECT_TRUE(content::is_ours(root_, "/usr/bin/absent"));
    EXPECT_TRUE(content::is_ours(root_, "/etc/modprobe.d/gpuhost.conf"));
    EXPECT_FALSE(content::is_ours(root_, "/usr/bin/theirs"));
    EXPECT_FALSE(content::is_ours(root_, "/usr/bin/sh"));
}

TEST_F(Selecting, EachVersionHasAFirmwareDirectory) {
    const Driver driver = add("535.261.03", {});
    const auto link = firmware_link(root_, driver);
    ASSERT_TRUE(link);
    EXPECT_EQ(link->path, "/lib/firmware/nvidia/535.261.03");
    ASSERT_TRUE(perform(root_, *link));
    EXPECT_EQ(root_.read(link->path + "/gsp_ga10x.bin").value_or(""), "535.261.03");
}

TEST(ModprobeOptions, BlacklistNouveauAndSetParameters) {
    const std::string text =
        modprobe_options({"nvidia.NVreg_A=1", "nvidia.NVreg_B=2", "nvidia-drm.modeset=1"});
    EXPECT_EQ(
        parse_modprobe_options(text),
        (std::map<std::string, std::string>{{"nvidia", "NVreg_A=1 NVreg_B=2"}, {"nvidia_drm", "modeset=1"}}));
    EXPECT_TRUE(parse_modprobe_options("").empty());
    EXPECT_NE(text.find("\nblacklist nouveau\n"), std::string::npos);
    EXPECT_NE(text.find("options nvidia NVreg_A=1 NVreg_B=2\n"), std::string::npos);
    EXPECT_NE(text.find("options nvidia_drm modeset=1\n"), std::string::npos);
}

TEST(DriverValue, JsonRoundTripKeepsTheDriver) {
    const Driver driver{{"550.163.01", "u", "m"}, "/u", "/m"};
    const auto back = driver_from_json(to_json(driver));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->generation, driver.generation);
    EXPECT_EQ(back->userland, "/u");
    EXPECT_EQ(back->modules, "/m");
    EXPECT_FALSE(driver_from_json(base::Json()));
}

} // namespace
} // namespace gpuhost::kmod
