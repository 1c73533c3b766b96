// SPDX-License-Identifier: Apache-2.0
// The steps of a swap, run on a tree as a worker runs them.
#include "daemon/base/parse.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/module/index.hpp"
#include "kmod/plan/step_kinds.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/unit/kmod/kernel_tree.hpp"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using tests::test_kernel;

class DriverSteps : public testing::Test {
  protected:
    DriverSteps() { codes_.add(step_code()); }

    core::StepContext context() {
        return {tree_.root(),
                settings_,
                boot_,
                "/var/lib/gpuhost/staging/1",
                {},
                [](double, std::string_view) {},
                [this](const std::string& text) { warnings_.push_back(text); }};
    }
    base::Result<void> apply(const std::string& name, const Json& args) {
        auto made = context();
        const core::StepCode& code = *codes_.find(name);
        GPUHOST_TRY(output, code.apply(made, args));
        output_ = output;
        return code.verify ? code.verify(made, args) : base::Result<void>{};
    }
    base::Result<void> undo(const std::string& name, const Json& args) {
        auto made = context();
        return codes_.find(name)->undo(made, args);
    }
    /// Returns "code text" of each problem.
    std::vector<std::string> preflight(const std::string& name, const Json& args) {
        auto made = context();
        std::vector<std::string> texts;
        const auto problems = codes_.find(name)->preflight(made, args);
        EXPECT_TRUE(problems);
        for (const core::Problem& problem : problems.value_or(std::vector<core::Problem>()))
            texts.push_back(std::string(base::info(problem.code).name) + " " + problem.text);
        return texts;
    }

    static std::string joined(const std::vector<std::string>& texts) { return base::join(texts, "\n"); }
    static bool says(const std::vector<std::string>& texts, const std::string& code,
                     const std::string& word) {
        for (const std::string& text : texts)
            if (base::starts_with(text, code + " ") && text.find(word) != std::string::npos)
                return true;
        return false;
    }

    /// Adds a driver with its files, for a kernel with one module of its own.
    Driver add_driver(const std::string& version) {
        (void)tree_.add_modules(version);
        const std::string userland = "/var/lib/gpuhost/driver/" + version + "/userland/u";
        tree_.directory().write(userland + "/bin/nvidia-smi", version);
        tree_.directory().write(userland + "/lib/libcuda.so.1", version);
        tree_.directory().write(userland + "/firmware/gsp_ga10x.bin", version);
        for (const char* name : {"modules.order", "modules.builtin", "modules.builtin.modinfo"})
            tree_.directory().write("lib/modules/" + std::string(test_kernel) + "/" + name, "");
        return {{version, "u" + version, "m" + version}, userland, "/modules/" + version};
    }

    static Json select_args(const std::optional<Driver>& from, const Driver& to) {
        Json args{{"kernel", test_kernel},
                  {"from", from ? to_json(*from) : Json()},
                  {"to", to_json(to)},
                  {"options_from", from ? modprobe_options({}) : std::string()},
                  {"options_to", modprobe_options({"nvidia.NVreg_A=1"})},
                  {"selection_to", to_json(Selection{to.generation, {}})}};
        args["selection_from"] = from ? to_json(Selection{from->generation, {}}) : Json();
        return args;
    }

    std::string module_file(const std::string& path) const {
        return tree_.directory().read("lib/modules/" + std::string(test_kernel) + "/" + path);
    }
    std::string selected() const {
        const auto selection = read_selection(tree_.root(), test_kernel);
        return selection && *selection ? (*selection)->generation.version : "none";
    }
    std::string library() const {
        return tree_.root().read("/var/lib/gpuhost/driver/current/lib/libcuda.so.1").value_or("");
    }

    tests::KernelTree tree_;
    core::StepCodes codes_;
    Json settings_;
    Json output_;
    std::vector<std::string> warnings_;
    std::string boot_ = "boot";
};

TEST_F(DriverSteps, SelectOfTheFirstDriverIsUndone) {
    const Driver driver = add_driver("535.261.03");
    const Json args = select_args(std::nullopt, driver);
    ASSERT_TRUE(apply("driver.prepare", args));
    EXPECT_EQ(module_file("modules.dep"), "") << "the host's index is unchanged so far";
    EXPECT_EQ(selected(), "none");
    for (int i = 0; i < 2; ++i) {
        const auto done = apply("driver.select", args);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_NE(module_file("modules.dep").find("updates/gpuhost/nvidia.ko"), std::string::npos);
        EXPECT_EQ(selected(), "535.261.03");
        EXPECT_EQ(library(), "535.261.03");
        EXPECT_EQ(tree_.root().read("/lib/firmware/nvidia/535.261.03/gsp_ga10x.bin").value_or(""),
                  "535.261.03");
    }
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(undo("driver.select", args));
        ASSERT_TRUE(undo("driver.prepare", args));
        EXPECT_EQ(module_file("modules.dep").find("nvidia"), std::string::npos);
        EXPECT_EQ(selected(), "none");
        EXPECT_EQ(library(), "");
        for (const char* path :
             {"/lib/firmware/nvidia/535.261.03", "/usr/bin/nvidia-smi", "/etc/modprobe.d/gpuhost.conf"})
            EXPECT_FALSE(tree_.root().exists(path)) << path;
    }
}

TEST_F(DriverSteps, SelectIsUndoneWithoutTheStagingDirectory) {
    const Driver old = add_driver("535.261.03");
    const Driver next = add_driver("550.163.01");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const std::string index = module_file("modules.dep");
    const Json args = select_args(old, next);
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("driver.select", args));
    EXPECT_EQ(selected(), "550.163.01");
    EXPECT_EQ(library(), "550.163.01");
    EXPECT_EQ(module_file("modules.dep"), index) << "the same names through the same link";
    ASSERT_TRUE(tree_.root().remove_tree("/var/lib/gpuhost/staging"));
    ASSERT_TRUE(undo("driver.select", args));
    EXPECT_EQ(selected(), "535.261.03");
    EXPECT_EQ(library(), "535.261.03");
    EXPECT_EQ(tree_.directory().read("etc/modprobe.d/gpuhost.conf"), modprobe_options({}));
}

TEST_F(DriverSteps, UndoOfOneKernelKeepsTheOthersDrivers) {
    const Driver old = add_driver("535.261.03");
    const Driver next = add_driver("550.163.01");
    tree_.directory().write(next.userland + "/bin/nvidia-new", "550.163.01");
    for (const char* name : {"modules.order", "modules.builtin", "modules.builtin.modinfo"})
        tree_.directory().write("lib/modules/6.1.0-40-amd64/" + std::string(name), "");
    Json others = select_args(std::nullopt, old);
    others["kernel"] = "6.1.0-40-amd64";
    ASSERT_TRUE(apply("driver.prepare", others));
    ASSERT_TRUE(apply("driver.select", others));
    Json args = select_args(std::nullopt, next);
    args["options_from"] = others["options_to"];
    args["options_to"] = modprobe_options({"nvidia.NVreg_B=2"});
    args["current_from"] = current_userland(tree_.root());
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("driver.select", args));
    EXPECT_EQ(library(), "550.163.01");
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(undo("driver.select", args));
        ASSERT_TRUE(undo("driver.prepare", args));
        EXPECT_EQ(selected(), "none");
        EXPECT_EQ(library(), "535.261.03");
        EXPECT_EQ(tree_.root().read("/usr/bin/nvidia-smi").value_or(""), "535.261.03");
        EXPECT_FALSE(tree_.root().exists("/usr/bin/nvidia-new"));
        EXPECT_TRUE(tree_.root().exists("/etc/ld.so.conf.d/gpuhost.conf"));
        EXPECT_EQ(tree_.directory().read("etc/modprobe.d/gpuhost.conf"),
                  others["options_to"].get<std::string>());
        EXPECT_FALSE(tree_.root().exists("/lib/modules/" + std::string(test_kernel) + "/updates/gpuhost"));
    }
}

TEST_F(DriverSteps, GpuThatFailsToProbeIsAWarning) {
    tree_.add_gpu("0000:65:00.0");
    tree_.add_gpu("0000:66:00.0");
    tree_.misbehave("probe 0000:66:00.0 errno 1");
    const Json args{{"kernel", test_kernel}, {"to", to_json(tree_.add_modules("535.261.03"))}};
    const auto done = apply("modules.converge", args);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_NE(joined(warnings_).find("GPU 0000:66:00.0 is not served"), std::string::npos)
        << joined(warnings_);
}

TEST_F(DriverSteps, UndoRemovesAnUnreadableSelection) {
    const Driver old = add_driver("535.261.03");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    Json args = select_args(std::nullopt, add_driver("550.163.01"));
    args["current_from"] = current_userland(tree_.root());
    ASSERT_FALSE(args["current_from"].get<std::string>().empty());
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("driver.select", args));
    ASSERT_TRUE(undo("driver.select", args));
    for (const char* path :
         {"/var/lib/gpuhost/driver/current", "/usr/bin/nvidia-smi", "/etc/ld.so.conf.d/gpuhost.conf"})
        EXPECT_FALSE(tree_.root().lstat(path)) << path;
}

TEST_F(DriverSteps, PreparedIndexIsUsedByUndo) {
    const Driver old = add_driver("535.261.03");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const Driver next = add_driver("550.163.01");
    tree_.directory().write(
        next.modules + "/nvidia-peermem.ko",
        tests::module_image({{"name", "nvidia_peermem"}, {"vermagic", std::string(test_kernel) + " SMP "}}));
    const Json args = select_args(old, next);
    ASSERT_TRUE(apply("driver.prepare", args));
    const std::string prepared =
        "/var/lib/gpuhost/staging/1/index-" + std::string(test_kernel) + "-from/prepared";
    tree_.directory().write(prepared.substr(1), "");
    ASSERT_TRUE(apply("driver.select", args));
    EXPECT_NE(module_file("modules.dep").find("nvidia-peermem"), std::string::npos) << "a different index";
    ASSERT_TRUE(undo("driver.select", args));
    EXPECT_EQ(module_file("modules.dep").find("nvidia-peermem"), std::string::npos);
    EXPECT_TRUE(tree_.root().exists(prepared)) << "it was computed again";
}

TEST_F(DriverSteps, UndoAfterABootInstallsThePreparedIndex) {
    const Driver old = add_driver("535.261.03");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const std::string index = module_file("modules.dep");
    const Driver next = add_driver("550.163.01");
    tree_.directory().write(
        next.modules + "/nvidia-peermem.ko",
        tests::module_image({{"name", "nvidia_peermem"}, {"vermagic", std::string(test_kernel) + " SMP "}}));
    const Json args = select_args(old, next);
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("driver.select", args));
    const std::string prepared =
        "/var/lib/gpuhost/staging/1/index-" + std::string(test_kernel) + "-from/prepared";
    tree_.directory().write(prepared.substr(1), "");
    boot_ = "next boot";
    ASSERT_TRUE(undo("driver.select", args));
    EXPECT_EQ(module_file("modules.dep"), index);
    EXPECT_TRUE(tree_.root().exists(prepared)) << "it was computed again";
}

TEST_F(DriverSteps, UndoSelectsTheOldDriverWithoutItsIndex) {
    const Driver old = add_driver("535.261.03");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const Json args = select_args(old, add_driver("550.163.01"));
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("driver.select", args));
    ASSERT_TRUE(tree_.root().remove_tree("/var/lib/gpuhost/staging"));
    tree_.directory().write("var/lib/gpuhost/staging", "in the way of a directory");
    EXPECT_FALSE(undo("driver.select", args));
    EXPECT_EQ(selected(), "535.261.03");
    EXPECT_EQ(library(), "535.261.03");
    ASSERT_TRUE(tree_.root().remove("/var/lib/gpuhost/staging"));
    EXPECT_TRUE(undo("driver.select", args));
}

TEST_F(DriverSteps, UndoKeepsFilesOfTheLoadedDriver) {
    const Driver old = add_driver("535.261.03");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const Json args = select_args(old, add_driver("550.163.01"));
    ASSERT_TRUE(apply("driver.prepare", args));
    tree_.directory().write("proc/driver/nvidia/version",
                            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Release Build\n");
    ASSERT_TRUE(undo("driver.prepare", args));
    EXPECT_EQ(tree_.root().read("/lib/firmware/nvidia/550.163.01/gsp_ga10x.bin").value_or(""), "550.163.01");
    tree_.directory().write("proc/driver/nvidia/version", "");
    ASSERT_TRUE(undo("driver.prepare", args));
    EXPECT_FALSE(tree_.root().exists("/lib/firmware/nvidia/550.163.01"));
}

TEST_F(DriverSteps, UndoKeepsModulesIfItKeepsTheirFiles) {
    tree_.add_gpu("0000:65:00.0");
    Driver old = add_driver("535.261.03");
    Driver next = add_driver("550.163.01");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const Json converge{{"kernel", test_kernel},
                        {"from", to_json(tree_.add_modules("535.261.03"))},
                        {"to", to_json(tree_.add_modules("550.163.01"))},
                        {"selects", true}};
    const Json args = select_args(old, next);
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("modules.converge", converge));
    ASSERT_TRUE(apply("driver.select", args));
    const std::string loaded = tree_.loaded();
    EXPECT_FALSE(undo("modules.converge", converge));
    EXPECT_EQ(tree_.loaded(), loaded);
    ASSERT_TRUE(undo("driver.select", args));
    ASSERT_TRUE(undo("modules.converge", converge));
    EXPECT_NE(tree_.loaded(), loaded);
}

TEST_F(DriverSteps, UndoOfPrepareKeepsTheBootedDriver) {
    const Driver old = add_driver("535.261.03");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const Json args = select_args(old, add_driver("550.163.01"));
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("driver.select", args));
    ASSERT_TRUE(write_selection(tree_.root(), test_kernel, {old.generation, {}}))
        << "the links are not restored yet";
    ASSERT_TRUE(undo("driver.prepare", args));
    EXPECT_EQ(library(), "550.163.01");
}

TEST_F(DriverSteps, IndexOlderThanAnotherDepmodIsRefused) {
    const Json args = select_args(std::nullopt, add_driver("535.261.03"));
    ASSERT_TRUE(apply("driver.prepare", args));
    const std::string modules = "lib/modules/" + std::string(test_kernel);
    tree_.directory().write(
        modules + "/updates/dkms/zfs.ko",
        tests::module_image({{"name", "zfs"}, {"vermagic", std::string(test_kernel) + " SMP "}}));
    ASSERT_TRUE(tree_.root().write_atomic("/" + modules + "/modules.dep", "updates/dkms/zfs.ko:\n"));
    ASSERT_TRUE(apply("driver.select", args));
    for (const char* path : {"updates/dkms/zfs.ko:", "updates/gpuhost/nvidia.ko:"})
        EXPECT_NE(module_file("modules.dep").find(path), std::string::npos) << path;
}

TEST_F(DriverSteps, IndexWithAnotherFileIsReported) {
    const Driver driver = add_driver("535.261.03");
    const std::string scratch = "/var/lib/gpuhost/staging/index";
    const auto check = [&](const std::string& modules_dep) {
        tree_.directory().write(scratch + "/usr/lib/modules/" + std::string(test_kernel) + "/modules.dep",
                                modules_dep);
        const auto checked = check_index(tree_.root(), test_kernel, driver.modules, scratch);
        return checked ? "" : checked.error().message;
    };
    const std::string others = "updates/gpuhost/nvidia-drm.ko:\nupdates/gpuhost/nvidia-modeset.ko:\n"
                               "updates/gpuhost/nvidia-uvm.ko: updates/gpuhost/nvidia.ko\n";
    EXPECT_EQ(check(others + "updates/gpuhost/nvidia.ko:\n"), "");
    EXPECT_NE(check(others + "updates/dkms/nvidia.ko.zst:\n").find("'updates/dkms/nvidia.ko.zst'"),
              std::string::npos);
    EXPECT_NE(check(others).find("'nothing'"), std::string::npos);
}

TEST_F(DriverSteps, ChangedInstalledIndexIsDetected) {
    const Json args = select_args(std::nullopt, add_driver("535.261.03"));
    ASSERT_TRUE(apply("driver.prepare", args));
    ASSERT_TRUE(apply("driver.select", args));
    auto made = context();
    EXPECT_TRUE(codes_.find("driver.select")->verify(made, args));
    EXPECT_EQ(joined(preflight("driver.select", args)), "") << "its own files are not a conflict";
    tree_.directory().write("lib/modules/" + std::string(test_kernel) + "/modules.alias", "another's\n");
    EXPECT_FALSE(codes_.find("driver.select")->verify(made, args));
}

TEST_F(DriverSteps, UndoWithoutApplyChangesNothing) {
    const Driver old = add_driver("535.261.03");
    const Json first = select_args(std::nullopt, old);
    ASSERT_TRUE(apply("driver.prepare", first));
    ASSERT_TRUE(apply("driver.select", first));
    const Json args = select_args(old, add_driver("550.163.01"));
    Json options = args;
    options["options_from"] = modprobe_options({"nvidia.NVreg_A=1"});
    ASSERT_TRUE(undo("driver.select", options));
    ASSERT_TRUE(undo("driver.prepare", options));
    EXPECT_EQ(selected(), "535.261.03");
    EXPECT_EQ(library(), "535.261.03");
    EXPECT_TRUE(tree_.root().exists("/lib/firmware/nvidia/535.261.03"));
}

TEST_F(DriverSteps, PreflightNamesAllConflictingFiles) {
    const Driver driver = add_driver("550.163.01");
    tree_.directory().write(driver.userland + "/bin/nvidia-debugdump", "550.163.01");
    const Json args = select_args(std::nullopt, driver);
    EXPECT_EQ(joined(preflight("driver.select", args)), "");
    tree_.directory().write("usr/bin/nvidia-smi", "a package's");
    tree_.directory().write("usr/lib/x86_64-linux-gnu/libcuda.so.1", "a package's");
    tree_.directory().write("etc/modprobe.d/nvidia.conf",
                            "install nvidia modprobe -i nvidia-current $CMDLINE_OPTS\n");
    tree_.directory().write("etc/modprobe.d/harmless.conf",
                            "options nvidia NVreg_A=1\nalias net-pf-10 off\nalias char-major-195* nvidia\n");
    tree_.directory().write("usr/local/lib/modprobe.d/local.conf", "alias nvidia nvidia-legacy\n");
    const std::string updates = "lib/modules/" + std::string(test_kernel) + "/updates/";
    for (const char* name : {"dkms/nvidia-drm.ko.xz", "dkms/nvidia.ko.bak", "dkms/zfs.ko"})
        tree_.directory().write(updates + name, "");
    const auto problems = preflight("driver.select", args);
    EXPECT_EQ(problems.size(), 5U) << joined(problems);
    for (const char* word : {"updates/dkms/nvidia-drm.ko.xz", "/usr/bin/nvidia-smi", "libcuda.so.1",
                             "/etc/modprobe.d/nvidia.conf", "/usr/local/lib/modprobe.d/local.conf"})
        EXPECT_TRUE(says(problems, "already-exists", word)) << word;
    tree_.directory().write("usr/bin/nvidia-debugdump", "a package's");
    const auto more = preflight("driver.select", args);
    EXPECT_EQ(more.size(), 5U) << "many files in one directory are one problem\n" << joined(more);
    EXPECT_TRUE(
        says(more, "already-exists", "'/usr/bin/nvidia-debugdump' and 1 more in that directory were not"))
        << joined(more);
}

TEST_F(DriverSteps, PreflightNamesConflictsWithOldFiles) {
    const Driver old = add_driver("535.261.03");
    tree_.directory().write(old.userland + "/bin/nvidia-old", "535.261.03");
    const Json args = select_args(old, add_driver("550.163.01"));
    EXPECT_EQ(joined(preflight("driver.select", args)), "");
    tree_.directory().write("usr/bin/nvidia-old", "a package's");
    EXPECT_TRUE(says(preflight("driver.select", args), "already-exists", "/usr/bin/nvidia-old"));
}

TEST_F(DriverSteps, DriverWithoutUserlandLinksNoFiles) {
    Driver driver = add_driver("550.163.01");
    driver.userland.clear();
    driver.modules = "/var/lib/gpuhost/driver/550.163.01/modules/k-open/m";
    tree_.directory().write("usr/lib/modules/x", "");
    tree_.directory().write("firmware/gsp_ga10x.bin", "");
    tree_.directory().write("lib/libnvidia-ml.so.1", "");
    const Json args = select_args(std::nullopt, driver);
    EXPECT_EQ(joined(preflight("driver.select", args)), "");
    EXPECT_TRUE(says(preflight("driver.prepare", args), "not-found", "GSP firmware"));
    EXPECT_TRUE(
        says(preflight("driver.validate", {{"level", "nvml"}, {"userland", ""}}), "not-found", "NVML"));
    tree_.directory().write(driver.modules + "/nvidia.ko",
                            tests::module_image({{"name", "nvidia"},
                                                 {"vermagic", std::string(test_kernel) + " SMP "},
                                                 {"firmware", "nvidia/550.163.01/gsp_ga10x.bin"}}));
    EXPECT_TRUE(says(preflight("driver.prepare", args), "not-found", "gsp_ga10x.bin"));
}

TEST_F(DriverSteps, PreflightReportsDamagedSetsAndFirmware) {
    Driver driver = add_driver("550.163.01");
    ASSERT_TRUE(tree_.root().remove_tree(driver.userland + "/firmware"));
    driver.modules = "/var/lib/gpuhost/driver/550.163.01/modules/k-open/m";
    const auto problems = preflight("driver.prepare", select_args(std::nullopt, driver));
    EXPECT_TRUE(says(problems, "bad-content", "modules/k-open/m")) << joined(problems);
    EXPECT_TRUE(says(problems, "bad-content", "userland/u")) << joined(problems);
    EXPECT_TRUE(says(problems, "not-found", "GSP firmware")) << joined(problems);
}

TEST_F(DriverSteps, PreflightNamesTheModulesMissingFirmware) {
    Driver driver = add_driver("550.163.01");
    driver.modules = "/var/lib/gpuhost/driver/550.163.01/modules/k-open/m";
    tree_.directory().write(driver.modules + "/nvidia.ko",
                            tests::module_image({{"name", "nvidia"},
                                                 {"vermagic", std::string(test_kernel) + " SMP "},
                                                 {"firmware", "nvidia/550.163.01/gsp_ga10x.bin"},
                                                 {"firmware", "nvidia/550.163.01/gsp_tu10x.bin"}}));
    const Json args = select_args(std::nullopt, driver);
    auto problems = preflight("driver.prepare", args);
    EXPECT_TRUE(says(problems, "not-found", "nvidia/550.163.01/gsp_tu10x.bin")) << joined(problems);
    EXPECT_FALSE(says(problems, "not-found", "gsp_ga10x.bin")) << joined(problems);
    tree_.directory().write("lib/firmware/nvidia/550.163.01/gsp_tu10x.bin.xz", "another package's");
    problems = preflight("driver.prepare", args);
    EXPECT_FALSE(says(problems, "not-found", "gsp_")) << joined(problems);
}

TEST_F(DriverSteps, PreflightReportsADamagedPreviousDriver) {
    const Driver old = add_driver("535.261.03");
    const Driver next = add_driver("550.163.01");
    EXPECT_FALSE(says(preflight("driver.prepare", select_args(old, next)), "bad-content", old.userland))
        << "that driver does not run";
    tree_.directory().write("sys/module/nvidia/initstate", "live\n");
    EXPECT_TRUE(says(preflight("driver.prepare", select_args(old, next)), "bad-content", old.userland));
    EXPECT_FALSE(says(preflight("driver.prepare", select_args(next, next)), "bad-content", old.userland));
}

TEST_F(DriverSteps, PreflightReadsTheModules) {
    const ModuleGoal goal = tree_.add_modules("550.163.01");
    const Json args{{"kernel", test_kernel}, {"to", to_json(goal)}, {"from", to_json(ModuleGoal{})}};
    EXPECT_EQ(joined(preflight("modules.converge", args)), "");
    tree_.directory().write("modules/550.163.01/nvidia.ko",
                            tests::nvidia_module("nvidia", "550.163.01", "6.1.0-56-amd64"));
    tree_.directory().write("modules/550.163.01/nvidia-uvm.ko", "no ELF");
    tree_.directory().write(
        "modules/550.163.01/nvidia-drm.ko",
        tests::module_image({{"name", "nvidia_drm"}, {"vermagic", std::string(test_kernel) + " SMP "}},
                            {{"pci_resize_resource", 1}}));
    tree_.directory().write("lib/modules/" + std::string(test_kernel) + "/build/Module.symvers",
                            "0x00000002\tpci_resize_resource\tvmlinux\tEXPORT_SYMBOL\t\n");
    tree_.directory().write("sys/module/module/parameters/sig_enforce", "Y\n");
    const auto problems = preflight("modules.converge", args);
    EXPECT_TRUE(says(problems, "unsupported", "6.1.0-56-amd64")) << joined(problems);
    EXPECT_TRUE(says(problems, "bad-content", "nvidia-uvm.ko")) << joined(problems);
    EXPECT_TRUE(says(problems, "unsupported", "pci_resize_resource")) << joined(problems);
    EXPECT_TRUE(says(problems, "access-denied", "sig_enforce")) << joined(problems);
}

TEST_F(DriverSteps, PreflightComparesTheWholeVermagic) {
    const ModuleGoal goal = tree_.add_modules("550.163.01");
    const Json args{{"kernel", test_kernel}, {"to", to_json(goal)}};
    const std::string modules = "lib/modules/" + std::string(test_kernel) + "/";
    tree_.directory().write(modules + "modules.dep",
                            "kernel/packed.ko.xz:\nkernel/ext4.ko: kernel/jbd2.ko\n");
    const auto built_as = [&](const std::string& options) {
        tree_.directory().write(
            modules + "kernel/ext4.ko",
            tests::module_image({{"name", "ext4"}, {"vermagic", std::string(test_kernel) + options}}));
        return joined(preflight("modules.converge", args));
    };
    EXPECT_EQ(built_as(" SMP mod_unload "), "");
    EXPECT_NE(built_as(" SMP preempt mod_unload ").find("SMP preempt mod_unload"), std::string::npos);
}

TEST_F(DriverSteps, PreflightReportsMissingFilesForUndo) {
    ModuleGoal from = tree_.add_modules("535.261.03");
    const Json to = to_json(tree_.add_modules("550.163.01"));
    const auto problems = [&] {
        return preflight("modules.converge", {{"kernel", test_kernel}, {"from", to_json(from)}, {"to", to}});
    };
    EXPECT_EQ(joined(problems()), "");
    ASSERT_TRUE(tree_.root().remove("/modules/535.261.03/nvidia-uvm.ko"));
    EXPECT_EQ(problems().size(), 1U);
    EXPECT_TRUE(says(problems(), "not-found", "nvidia-uvm.ko"));
    // a driver that is not in the store
    for (GoalModule& module : from.modules)
        module.path.clear();
    EXPECT_EQ(problems().size(), 4U) << joined(problems());
    const std::string modules = "lib/modules/" + std::string(test_kernel) + "/";
    std::string index = "extra/nvidia-uvm.ko.xz:\n";
    for (const char* name : {"nvidia", "nvidia-modeset", "nvidia-drm"}) {
        std::filesystem::create_directories(tree_.directory().path(modules + "extra"));
        std::filesystem::copy(tree_.directory().path("modules/535.261.03/" + std::string(name) + ".ko"),
                              tree_.directory().path(modules + "extra/" + name + ".ko"));
        index += "extra/" + std::string(name) + ".ko:\n";
    }
    tree_.directory().write(modules + "modules.dep", index);
    EXPECT_EQ(joined(problems()), "");
}

TEST_F(DriverSteps, PreflightWaitsForALoadingModule) {
    tree_.directory().write("sys/module/nvidia/initstate", "coming\n");
    Json args{{"kernel", test_kernel}, {"module_deadline_usec", 100'000}};
    EXPECT_TRUE(says(preflight("modules.converge", args), "reboot-required", "coming"));
    args["module_deadline_usec"] = 60'000'000;
    const pid_t udev = ::fork();
    if (udev == 0) {
        ::usleep(200'000);
        const std::string module = tree_.directory().path() + "/sys/module/nvidia/";
        tree_.directory().write("sys/module/nvidia/next", "live\n");
        (void)::rename((module + "next").c_str(), (module + "initstate").c_str()); // never empty, as in sysfs
        ::_exit(0);
    }
    EXPECT_FALSE(says(preflight("modules.converge", args), "reboot-required", ""));
    ::waitpid(udev, nullptr, 0);
}

TEST_F(DriverSteps, PreflightNamesConflictingModules) {
    tree_.add_gpu("0000:65:00.0");
    const ModuleGoal goal = tree_.add_modules("535.261.03");
    ASSERT_TRUE(apply("modules.converge", {{"kernel", test_kernel}, {"to", to_json(goal)}}));
    for (const char* name : {"gdrdrv", "nvidia_fs", "nouveau"}) {
        tree_.directory().write("sys/module/" + std::string(name) + "/initstate", "live\n");
        tree_.directory().write("sys/module/" + std::string(name) + "/refcnt", "1\n");
    }
    tree_.directory().write("sys/module/nvidia/holders/gdrdrv/x", "");
    tree_.directory().write("sys/module/nvidia/holders/nvidia_fs/x", "");
    ModuleGoal to = tree_.add_modules("550.163.01");
    to.modules.push_back({"nvidia_fs", {}, {}, {}, {"nvidia"}, {}, true});
    Json args{{"kernel", test_kernel}, {"from", to_json(goal)}, {"to", to_json(to)}};
    EXPECT_TRUE(says(preflight("modules.converge", args), "in-use", "gdrdrv")) << "loaded after the plan";
    EXPECT_TRUE(says(preflight("modules.converge", args), "in-use", "nvidia_fs"));
    EXPECT_FALSE(says(preflight("modules.converge", args), "in-use", "nvidia_uvm"));
    EXPECT_TRUE(says(preflight("modules.converge", args), "in-use", "nouveau"));
    args["policy"] = "terminate";
    EXPECT_FALSE(says(preflight("modules.converge", args), "in-use", "gdrdrv"));
    tree_.directory().write("sys/module/nvidia_uvm/initstate", "going\n");
    EXPECT_TRUE(says(preflight("modules.converge", args), "reboot-required", "nvidia_uvm"));
}

TEST_F(DriverSteps, PreflightReportsKernelsWithoutLoadOrUnload) {
    tree_.add_gpu("0000:65:00.0");
    const ModuleGoal from = tree_.add_modules("535.261.03");
    const ModuleGoal to = tree_.add_modules("550.163.01");
    const Json load{{"kernel", test_kernel}, {"to", to_json(from)}};
    ASSERT_TRUE(apply("modules.converge", load));
    const Json swap{{"kernel", test_kernel}, {"from", to_json(from)}, {"to", to_json(to)}};
    EXPECT_EQ(joined(preflight("modules.converge", swap)), "");
    for (const GoalModule& module : from.modules)
        (void)tree_.root().remove("/sys/module/" + module.name + "/refcnt");
    EXPECT_EQ(preflight("modules.converge", swap).size(), 1U) << "reported once, not for each module";
    EXPECT_TRUE(says(preflight("modules.converge", swap), "unsupported", "CONFIG_MODULE_UNLOAD"));
    EXPECT_EQ(joined(preflight("modules.converge", load)), "") << "nothing must be unloaded";
    tree_.directory().write("proc/sys/kernel/modules_disabled", "1\n");
    EXPECT_EQ(joined(preflight("modules.converge", load)), "") << "nor loaded";
    EXPECT_TRUE(says(preflight("modules.converge", swap), "reboot-required", "modules_disabled"));
    ASSERT_TRUE(tree_.root().remove_tree("/sys/module/nvidia_uvm"));
    EXPECT_TRUE(says(preflight("modules.converge", load), "reboot-required", "modules_disabled"));
    tree_.directory().write("proc/sys/kernel/modules_disabled", "0\n");
    EXPECT_EQ(joined(preflight("modules.converge", load)), "");
}

TEST_F(DriverSteps, ApplyAndUndoBindTheConsoleAgain) {
    tree_.add_gpu("0000:65:00.0");
    ModuleGoal from = tree_.add_modules("535.261.03");
    ModuleGoal to = tree_.add_modules("550.163.01");
    from.modules[3].parameters = to.modules[3].parameters = "fbdev=1";
    ASSERT_TRUE(apply("modules.converge", {{"kernel", test_kernel}, {"to", to_json(from)}}));
    const Json args{{"kernel", test_kernel}, {"from", to_json(from)}, {"to", to_json(to)}, {"console", true}};
    const std::string bind = "sys/class/vtconsole/vtcon1/bind";
    EXPECT_EQ(joined(preflight("modules.converge", args)), "") << "the console is not a conflict";
    tree_.directory().write(bind, "0\n"); // as after a worker was killed before the first unload
    ASSERT_TRUE(undo("modules.converge", args));
    EXPECT_EQ(tree_.directory().read(bind), "1\n");
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(apply("modules.converge", args));
        EXPECT_EQ(tree_.directory().read(bind), "1\n");
    }
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(undo("modules.converge", args));
        EXPECT_EQ(tree_.directory().read(bind), "1\n");
    }
    tree_.misbehave("bind vtcon1 errno 5\n");
    tree_.directory().write(bind, "0\n");
    warnings_.clear();
    ASSERT_TRUE(undo("modules.converge", args)) << "an unbound console does not fail the undo";
    EXPECT_EQ(warnings_.size(), 1U) << joined(warnings_);
}

TEST_F(DriverSteps, UndoContinuesIfAProcessDoesNotEnd) {
    tree_.add_gpu("0000:65:00.0");
    const ModuleGoal goal = tree_.add_modules("535.261.03");
    Json args{
        {"kernel", test_kernel}, {"to", to_json(goal)}, {"from", to_json(goal)}, {"policy", "terminate"}};
    ASSERT_TRUE(apply("modules.converge", args));
    ASSERT_TRUE(apply("driver.devices", {{"when", "forward"}}));
    tree_.add_process(4242, "x", "/system.slice/gpuhost-x.service", "/dev/nvidia0"); // not ended by any test
    const auto done = undo("modules.converge", args);
    EXPECT_TRUE(done) << done.error().message;
    args["from"] = to_json(tree_.add_modules("550.163.01"));
    args["grace_usec"] = 1000;
    const auto failed = undo("modules.converge", args);
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().message.find("cannot be terminated"), std::string::npos)
        << failed.error().message;
    EXPECT_NE(failed.error().message.find("unloading"), std::string::npos) << failed.error().message;
}

TEST_F(DriverSteps, UndoWithoutUnloadEndsNoProcess) {
    tree_.add_gpu("0000:65:00.0");
    const ModuleGoal goal = tree_.add_modules("535.261.03");
    const Json args{{"kernel", test_kernel},
                    {"to", to_json(tree_.add_modules("550.163.01"))},
                    {"from", to_json(goal)},
                    {"policy", "terminate"},
                    {"grace_usec", 20'000'000}};
    ASSERT_TRUE(apply("modules.converge", {{"kernel", test_kernel}, {"to", to_json(goal)}}));
    ASSERT_TRUE(apply("driver.devices", {{"when", "forward"}}));
    const pid_t user = ::fork();
    if (user == 0) {
        (void)::alarm(60);
        for (;;)
            ::pause();
    }
    tree_.add_process(user, "python3", "/system.slice/train.service", "/dev/nvidia0");
    EXPECT_TRUE(undo("modules.converge", args));
    EXPECT_EQ(::waitpid(user, nullptr, WNOHANG), 0) << "the process was ended";
    ::kill(user, SIGKILL);
    ::waitpid(user, nullptr, 0);
}

TEST_F(DriverSteps, UndoWarnsAboutMissingOptionalModules) {
    tree_.add_gpu("0000:65:00.0");
    ModuleGoal goal = tree_.add_modules("535.261.03");
    goal.modules.push_back({"nvidia_peermem", "/absent.ko", "", "", {"nvidia"}, {}, true});
    ASSERT_TRUE(undo("modules.converge", {{"kernel", test_kernel}, {"from", to_json(goal)}}));
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("nvidia_peermem"), std::string::npos) << warnings_[0];
    EXPECT_NE(warnings_[0].find("its file is missing"), std::string::npos) << warnings_[0];
}

TEST_F(DriverSteps, UnknownModuleParametersAreNamed) {
    tree_.add_gpu("0000:65:00.0");
    ModuleGoal goal = tree_.add_modules("535.261.03");
    goal.modules[0].parameters = "NVreg_Known=1 NVreg_Typo=2";
    tree_.directory().write(goal.modules[0].path.substr(1),
                            tests::module_image({{"name", "nvidia"},
                                                 {"version", "535.261.03"},
                                                 {"srcversion", goal.modules[0].srcversion},
                                                 {"parmtype", "NVreg_Known:int"},
                                                 {"vermagic", std::string(test_kernel) + " SMP "}}));
    ASSERT_TRUE(apply("modules.converge", {{"kernel", test_kernel}, {"to", to_json(goal)}}));
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("'nvidia' 535.261.03 has no parameter 'NVreg_Typo'"), std::string::npos)
        << warnings_[0];
}

TEST_F(DriverSteps, HolderPolicyRefusesWaitsOrTerminates) {
    tree_.add_gpu("0000:65:00.0");
    ASSERT_TRUE(apply("modules.converge",
                      {{"kernel", test_kernel}, {"to", to_json(tree_.add_modules("535.261.03"))}}));
    ASSERT_TRUE(apply("driver.devices", {{"when", "forward"}}));
    tree_.add_process(4242, "python3", "/system.slice/train.service", "/dev/nvidia0");
    Json args{{"policy", "refuse"}, {"units", Json::array()}, {"timeout_usec", 1000}};
    EXPECT_TRUE(says(preflight("holders.clear", args), "in-use", "process 4242 (python3) of train.service"));
    const auto refused = apply("holders.clear", args);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::InUse);
    args["policy"] = "wait";
    EXPECT_TRUE(preflight("holders.clear", args).empty());
    const auto waited = apply("holders.wait", args);
    ASSERT_FALSE(waited);
    EXPECT_NE(waited.error().message.find("4242"), std::string::npos);
    const std::string instance = "/proc/driver/nvidia/capabilities/gpu0/mig/gi7";
    ASSERT_TRUE(tree_.root().make_directories(instance));
    args["saves_mig"] = false;
    for (const char* kind : {"holders.wait", "holders.clear"}) {
        const auto stopped = apply(kind, args);
        ASSERT_FALSE(stopped);
        EXPECT_EQ(stopped.error().code, Errc::Refused) << kind << " ends or waits for no process";
    }
    ASSERT_TRUE(tree_.root().remove_tree("/proc/driver/nvidia/capabilities"));
    args["units"] = {"train.service"};
    EXPECT_TRUE(apply("holders.wait", args)) << "the unit is stopped later";
    ASSERT_TRUE(tree_.root().remove("/proc/4242/fd/7"));
    EXPECT_TRUE(apply("holders.clear", args));
}

/// A systemctl for client.service. dependent.service, without processes, may depend on it.
constexpr const char* systemctl = R"(#!/bin/sh
cd "${0%/usr/bin/systemctl}" || exit 1
echo "$*" >>log
case "$*" in
show*RequiredBy*) cat dependents; exit ;;
show*DropInPaths*) cat known 2>/dev/null; exit 0 ;;
daemon-reload*) exit 0 ;;
show*Job*gpuhost-ready.service) cat boot-job 2>/dev/null; exit 0 ;;
show*ActiveState*) grep -qx "${*##* }" active && echo active || echo inactive; exit ;;
*" client.service"|*" dependent.service") ;;
*) echo no such unit; exit 5 ;;
esac
case $* in *client.service*) ;; *) exit 0 ;; esac
case $1 in stop) : ;; start) echo 12 ;; esac >sys/fs/cgroup/system.slice/client.service/cgroup.procs
)";

TEST_F(DriverSteps, UnitsAreStoppedAndStarted) {
    const std::string group = "sys/fs/cgroup/system.slice/client.service/cgroup.procs";
    tree_.directory().write("usr/bin/systemctl", systemctl);
    tree_.directory().write("dependents", "\n\n");
    std::filesystem::permissions(tree_.directory().path("usr/bin/systemctl"),
                                 std::filesystem::perms::owner_all);
    tree_.directory().write(group, "12\n");
    const Json args{{"units", {"client.service"}}};
    tree_.directory().write("dependents", "\nclient.service dependent.service\n\n");
    tree_.directory().write("active", "dependent.service\n");
    const auto refused = apply("units.stop", args);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("dependent.service would stop"), std::string::npos)
        << refused.error().message;
    EXPECT_EQ(tree_.directory().read(group), "12\n");
    tree_.directory().write("active", "");
    ASSERT_TRUE(apply("units.stop", args));
    EXPECT_EQ(tree_.directory().read(group), "");
    ASSERT_TRUE(undo("units.stop", args));
    EXPECT_EQ(tree_.directory().read(group), "12\n");
    EXPECT_NE(tree_.directory().read("log").find("start --no-block -- client.service"), std::string::npos)
        << "a blocking start would deadlock at boot";
    ASSERT_TRUE(undo("units.start", args));
    EXPECT_EQ(tree_.directory().read(group), "");
    tree_.directory().write(group, "13\n");
    ASSERT_TRUE(undo("units.quiesce", args));
    EXPECT_EQ(tree_.directory().read(group), "") << "the unit had restarted automatically";
    ASSERT_TRUE(tree_.root().remove_tree("/var/lib/gpuhost/staging"));
    ASSERT_TRUE(apply("units.start", {{"units", {"client.service", "gone.service"}}}))
        << "a failed start is only a warning";
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_EQ(warnings_[0].find("gone.service did not start again: "), 0U);
    tree_.directory().write("dependents", "\n");
    const auto stopped = apply("units.stop", {{"units", {"gone.service"}}});
    ASSERT_FALSE(stopped);
    EXPECT_NE(stopped.error().message.find("no such unit"), std::string::npos);
}

TEST_F(DriverSteps, ListedDependentIsStartedWithItsUnit) {
    tree_.directory().write("usr/bin/systemctl", systemctl);
    std::filesystem::permissions(tree_.directory().path("usr/bin/systemctl"),
                                 std::filesystem::perms::owner_all);
    tree_.directory().write("sys/fs/cgroup/system.slice/client.service/cgroup.procs", "12\n");
    tree_.directory().write("dependents", "dependent.service\n");
    tree_.directory().write("active", "dependent.service\n");
    settings_ = {{"Driver", {{"ClientUnits", "client.service dependent.service idle.service"}}}};
    const Json args{{"units", {"client.service"}}};
    const auto calls = [&] {
        const std::string log = tree_.directory().read("log");
        tree_.directory().write("log", "");
        return log;
    };
    ASSERT_TRUE(apply("units.stop", args));
    EXPECT_NE(calls().find("stop -- client.service dependent.service\n"), std::string::npos);
    tree_.directory().write("active", "");
    ASSERT_TRUE(undo("units.stop", args));
    EXPECT_NE(calls().find("start --no-block -- dependent.service\n"), std::string::npos);
    ASSERT_TRUE(apply("units.start", args));
    EXPECT_NE(calls().find("start -- dependent.service\n"), std::string::npos);
    tree_.directory().write("boot-job", "117\n");
    ASSERT_TRUE(apply("units.start", args));
    EXPECT_NE(calls().find("start --no-block -- dependent.service\n"), std::string::npos)
        << "gpuhost-ready.service waits for this step, and the unit for gpuhost-ready.service";
    ASSERT_TRUE(undo("units.start", args));
    EXPECT_NE(calls().find("stop -- client.service dependent.service\n"), std::string::npos);
}

TEST_F(DriverSteps, UnitsStartedMeanwhileAreStoppedAndRestarted) {
    tree_.directory().write("usr/bin/systemctl", systemctl);
    std::filesystem::permissions(tree_.directory().path("usr/bin/systemctl"),
                                 std::filesystem::perms::owner_all);
    tree_.directory().write("dependents", "dependent.service\n");
    tree_.directory().write("active", "dependent.service\nidle.service\n");
    tree_.directory().write("sys/fs/cgroup/system.slice/client.service/cgroup.procs", "12\n");
    settings_ = {{"Driver", {{"ClientUnits", "client.service idle.service"}}}};
    const Json none{{"units", Json::array()}};
    ASSERT_TRUE(undo("units.quiesce", none));
    EXPECT_NE(tree_.directory().read("log").find("stop -- client.service\n"), std::string::npos);
    EXPECT_EQ(tree_.directory().read("log").find("stop -- idle.service"), std::string::npos)
        << "a unit without processes holds no device";
    ASSERT_EQ(warnings_.size(), 1U) << "they are not started again";
    EXPECT_NE(warnings_[0].find("client.service dependent.service"), std::string::npos) << warnings_[0];
    tree_.directory().write("sys/fs/cgroup/system.slice/client.service/cgroup.procs", "12\n");
    tree_.directory().write("var/lib/gpuhost/staging/1/stopped-units", "first.service");
    ASSERT_TRUE(undo("units.quiesce", none));
    EXPECT_EQ(warnings_.size(), 1U);
    EXPECT_EQ(tree_.directory().read("var/lib/gpuhost/staging/1/stopped-units"),
              "first.service\nclient.service\ndependent.service")
        << "the undo of units.stop starts them";
}

TEST_F(DriverSteps, EarlyUnitsStartWithoutTheOthers) {
    tree_.directory().write("usr/bin/systemctl", systemctl);
    std::filesystem::permissions(tree_.directory().path("usr/bin/systemctl"),
                                 std::filesystem::perms::owner_all);
    tree_.directory().write("sys/fs/cgroup/system.slice/client.service/cgroup.procs", "12\n");
    tree_.directory().write("dependents", "\n");
    tree_.directory().write("active", "");
    const Json all{{"units", {"client.service", "dependent.service"}}};
    ASSERT_TRUE(apply("units.stop", all));
    tree_.directory().write("log", "");
    Json ahead = all;
    ahead["only"] = {"dependent.service"};
    ASSERT_TRUE(apply("units.start", ahead));
    EXPECT_NE(tree_.directory().read("log").find("start -- dependent.service\n"), std::string::npos);
    EXPECT_EQ(tree_.directory().read("log").find("client.service"), std::string::npos)
        << "the other unit stays stopped";
    tree_.directory().write("log", "");
    ASSERT_TRUE(undo("units.start", ahead));
    EXPECT_EQ(tree_.directory().read("log").find("client.service"), std::string::npos);
    ASSERT_TRUE(apply("units.start", all));
    EXPECT_NE(tree_.directory().read("log").find("start -- client.service\n"), std::string::npos);
}

TEST_F(DriverSteps, NewDropInReloadsSystemd) {
    const std::string drop_in = "/etc/systemd/system/nvidia-imex.service.d/50-gpuhost.conf";
    tree_.directory().write("usr/bin/systemctl", systemctl);
    std::filesystem::permissions(tree_.directory().path("usr/bin/systemctl"),
                                 std::filesystem::perms::owner_all);
    const Json args{{"units", {"nvidia-fabricmanager.service", "nvidia-imex.service"}}};
    const auto reloads = [&] {
        tree_.directory().write("log", "");
        EXPECT_TRUE(apply("units.reload", args));
        return tree_.directory().read("log").find("daemon-reload") != std::string::npos;
    };
    EXPECT_FALSE(reloads()) << "without a drop-in";
    tree_.directory().write(drop_in.substr(1), "[Service]\n");
    EXPECT_TRUE(reloads());
    tree_.directory().write("known", "/run/x.conf " + drop_in + "\n");
    EXPECT_FALSE(reloads());
    EXPECT_TRUE(warnings_.empty());
    ASSERT_TRUE(tree_.root().remove("/usr/bin/systemctl"));
    EXPECT_TRUE(apply("units.reload", args)) << "a failed reload is only a warning";
    EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(DriverSteps, UndoCreatesNodesOfThePreviousDriver) {
    tree_.add_gpu("0000:65:00.0");
    ASSERT_TRUE(apply("modules.converge",
                      {{"kernel", test_kernel}, {"to", to_json(tree_.add_modules("535.261.03"))}}));
    ASSERT_TRUE(apply("driver.devices", {{"when", "back"}}));
    EXPECT_FALSE(tree_.root().exists("/dev/nvidia0"));
    ASSERT_TRUE(undo("driver.devices", {{"when", "back"}}));
    EXPECT_TRUE(tree_.root().exists("/dev/nvidia0"));
}

TEST_F(DriverSteps, ValidationUsesTheConfiguredLevel) {
    tree_.add_gpu("0000:65:00.0");
    const ModuleGoal goal = tree_.add_modules("535.261.03");
    ASSERT_TRUE(apply("modules.converge", {{"kernel", test_kernel}, {"to", to_json(goal)}}));
    Json args{{"level", "kernel"}, {"goal", to_json(goal)}, {"userland", "/nowhere"}};
    EXPECT_FALSE(apply("driver.validate", args)) << "device nodes are missing";
    ASSERT_TRUE(apply("driver.devices", {{"when", "forward"}}));
    EXPECT_TRUE(apply("driver.validate", args));
    args["level"] = "nvml";
    EXPECT_TRUE(says(preflight("driver.validate", args), "not-found", "NVML"));
    EXPECT_FALSE(apply("driver.validate", args));
}

TEST_F(DriverSteps, VersionSpecificProgramsMustMatchTheDriver) {
    const ModuleGoal goal = tree_.add_modules("535.261.03");
    const Json args{{"level", "kernel"},
                    {"goal", to_json(goal)},
                    {"userland", "/userland"},
                    {"units", {"nvidia-fabricmanager.service", "nvidia-persistenced.service"}}};
    EXPECT_TRUE(preflight("driver.validate", args).empty()) << "programs in other places are not checked";
    tree_.directory().write("usr/bin/nv-fabricmanager", "Fabric Manager 550.163.01");
    tree_.directory().write("usr/bin/nvidia-imex", "IMEX 550.163.01");
    EXPECT_TRUE(says(preflight("driver.validate", args), "unsupported", "not of driver 535.261.03"));
    tree_.directory().write("userland/bin/nv-fabricmanager", "Fabric Manager 535.261.03");
    EXPECT_TRUE(preflight("driver.validate", args).empty()) << "the driver has its own program";
}

TEST_F(DriverSteps, MismatchedSwitchLibraryIsAWarning) {
    const ModuleGoal goal = tree_.add_modules("535.261.03");
    const Json args{{"level", "kernel"}, {"goal", to_json(goal)}, {"userland", "/userland"}};
    const auto warned = [&](const Json& step_args) {
        warnings_.clear();
        EXPECT_TRUE(preflight("driver.validate", step_args).empty()) << "GPUs work without it";
        return joined(warnings_);
    };
    const std::string directory = "usr/lib64/";
    tree_.directory().write(directory + "libnvidia-nscq.so.550.163.01", "NSCQ 550.163.01");
    ASSERT_TRUE(
        tree_.root().symlink_atomic("libnvidia-nscq.so.550.163.01", "/usr/lib64/libnvidia-nscq.so.2"));
    EXPECT_EQ(warned(args), "") << "without switches";
    tree_.directory().write("sys/bus/pci/devices/0000:05:00.0/vendor", "0x10de\n");
    tree_.directory().write("sys/bus/pci/devices/0000:05:00.0/class", "0x068000\n");
    EXPECT_NE(warned(args).find("'/usr/lib64/libnvidia-nscq.so.2' is not of driver 535.261.03"),
              std::string::npos);
    tree_.directory().write("userland/lib/libnvidia-nscq.so.2", "NSCQ 535.261.03");
    EXPECT_EQ(warned(args), "") << "the driver has its own library";
    tree_.directory().write(directory + "libnvsdm.so.1", "NVSDM 550.163.01");
    EXPECT_NE(warned(args).find("libnvsdm.so.1' is not of driver 535.261.03"), std::string::npos);
    ASSERT_TRUE(tree_.root().remove_tree("/sys/bus/pci/devices/0000:05:00.0"));
    EXPECT_EQ(warned(args), "");
    Json managed = args;
    managed["units"] = {"nvidia-fabricmanager.service"};
    EXPECT_NE(warned(managed).find("libnvsdm"), std::string::npos) << "switches without an NVIDIA PCI device";
    ASSERT_TRUE(tree_.root().symlink_atomic("gone", "/usr/lib64/libnvsdm.so.1"));
    EXPECT_NE(warned(managed).find("libnvsdm"), std::string::npos) << "a dangling link has no version";
}

/// driver.validate at level nvml, with tests/support/stub_nvml.c as the driver's library.
class Nvml : public DriverSteps {
  protected:
    void SetUp() override {
        const char* const built = std::getenv("top_builddir");
        stub_ = std::string(built != nullptr ? built : ".") + "/tests/unit/stub-nvml.so";
        if (!std::filesystem::exists(stub_))
            GTEST_SKIP() << "no " << stub_;
        tree_.add_gpu("0000:65:00.0");
        const ModuleGoal goal = tree_.add_modules("535.261.03");
        ASSERT_TRUE(apply("modules.converge", {{"kernel", test_kernel}, {"to", to_json(goal)}}));
        ASSERT_TRUE(apply("driver.devices", {{"when", "forward"}}));
        std::filesystem::create_directories(tree_.directory().path("userland/lib"));
        std::filesystem::copy(stub_, tree_.directory().path("userland/lib/libnvidia-ml.so.1"));
        args_ = {{"level", "nvml"}, {"goal", to_json(goal)}, {"userland", "/userland"}};
        answer("0", "535.261.03", "1");
    }

    static void answer(const char* error, const char* version, const char* devices) {
        ::setenv("STUB_NVML_ERROR", error, 1);
        ::setenv("STUB_NVML_VERSION", version, 1);
        ::setenv("STUB_NVML_DEVICES", devices, 1);
    }

    std::string failure() {
        const auto done = apply("driver.validate", args_);
        return done ? "" : done.error().message;
    }

    std::string stub_;
    Json args_;
};

TEST_F(Nvml, AnswerMustHaveVersionAndAllGpus) {
    EXPECT_TRUE(preflight("driver.validate", args_).empty());
    EXPECT_EQ(failure(), "");
    EXPECT_EQ(output_["devices"], 1);
    answer("18", "535.261.03", "1");
    EXPECT_NE(failure().find("Driver/library version mismatch"), std::string::npos) << failure();
    answer("0", "550.163.01", "1");
    EXPECT_NE(failure().find("550.163.01"), std::string::npos) << failure();
    answer("0", "535.261.03", "0");
    EXPECT_NE(failure().find("0 of 1 GPUs"), std::string::npos) << failure();
}

TEST_F(Nvml, MissingGpuFailsOnlyIfRequired) {
    tree_.add_gpu("0000:66:00.0");
    tree_.directory().write("proc/driver/nvidia/gpus/0000:66:00.0/information", "Device Minor: 1\n");
    tree_.directory().write("dev/nvidia1", "c 195:1 666\n");
    ASSERT_TRUE(tree_.root().symlink_atomic("../nvidia1", "/dev/char/195:1"));
    EXPECT_EQ(failure(), "");
    EXPECT_NE(joined(warnings_).find("NVML reports 1 of 2 GPUs"), std::string::npos) << joined(warnings_);
    args_["gpus"] = {"0000:65:00.0", "0000:66:00.0"};
    EXPECT_NE(failure().find("NVML reports 1 of 2 GPUs"), std::string::npos) << failure();
}

TEST_F(Nvml, LibraryThatCannotBeOpenedFails) {
    tree_.directory().write("userland/lib/libnvidia-ml.so.1", "no library");
    EXPECT_NE(failure().find("libnvidia-ml.so.1"), std::string::npos);
}

/// driver.compute with tests/support/stub_cuda.c as the driver's library.
class Cuda : public DriverSteps {
  protected:
    void SetUp() override {
        const char* const built = std::getenv("top_builddir");
        const std::string stub = std::string(built != nullptr ? built : ".") + "/tests/unit/stub-cuda.so";
        if (!std::filesystem::exists(stub))
            GTEST_SKIP() << "no " << stub;
        tree_.add_gpu("0000:65:00.0");
        tree_.add_gpu("0000:66:00.0");
        std::filesystem::create_directories(tree_.directory().path("userland/lib"));
        std::filesystem::copy(stub, tree_.directory().path("userland/lib/libcuda.so.1"));
        std::filesystem::copy(std::filesystem::path(stub).replace_filename("stub-nvml.so"),
                              tree_.directory().path("userland/lib/libnvidia-ml.so.1"));
        const ModuleGoal goal = tree_.add_modules("535.261.03");
        ASSERT_TRUE(apply("modules.converge", {{"kernel", test_kernel}, {"to", to_json(goal)}}));
        ::setenv("STUB_CUDA_DEVICES", "2", 1);
        ::setenv("STUB_NVML_ERROR", "0", 1);
        ::setenv("STUB_NVML_DEVICES", "2", 1);
        ::setenv("FAKE_ROOT", tree_.directory().path("").c_str(), 1);
    }
    ~Cuda() override {
        for (const char* name :
             {"STUB_CUDA_DEVICES", "STUB_CUDA_FAIL", "STUB_CUDA_WRONG", "STUB_CUDA_JIT", "FAKE_ROOT"})
            ::unsetenv(name);
    }

    base::Error failure() {
        const auto done = apply("driver.compute", args_);
        return done ? base::Error{} : done.error();
    }

    Json args_{{"userland", "/userland"}, {"gpus", {"0000:65:00.0", "0000:66:00.0"}}, {"fabric", false}};
};

TEST_F(Cuda, EachGpuMustComputeRightSums) {
    ASSERT_TRUE(apply("driver.compute", args_)) << failure().message;
    EXPECT_EQ(output_["gpus"], (Json{"0000:64:00.0", "0000:65:00.0"}))
        << "the addresses that the library reports";
    ::setenv("STUB_CUDA_WRONG", "1", 1);
    EXPECT_NE(failure().message.find("GPU 0000:65:00.0 computes wrong sums"), std::string::npos)
        << failure().message;
    EXPECT_FALSE(failure().hint.empty());
}

TEST_F(Cuda, PtxCompilerIsThatOfTheUserland) {
    ::setenv("STUB_CUDA_JIT", "1", 1);
    EXPECT_NE(failure().message.find("compiling for 0000:64:00.0: stub error 221"), std::string::npos)
        << failure().message;
    const std::string built = std::getenv("top_builddir") != nullptr ? std::getenv("top_builddir") : ".";
    std::filesystem::copy(built + "/tests/unit/stub-jit.so",
                          tree_.directory().path("userland/lib/libnvidia-ptxjitcompiler.so.1"));
    EXPECT_EQ(failure().message, "");
}

TEST_F(Cuda, MissingGpuFails) {
    ::setenv("STUB_CUDA_DEVICES", "1", 1);
    EXPECT_NE(failure().message.find("CUDA reports 1 of 2 GPUs"), std::string::npos) << failure().message;
    tree_.directory().write("stub-nvml", "split 0\n");
    EXPECT_EQ(failure().message, "") << "the other GPU is not split";
    ::setenv("STUB_CUDA_FAIL", "cuInit:100", 1);
    EXPECT_NE(failure().message.find("CUDA reports 0 of 1 GPUs"), std::string::npos) << failure().message;
    tree_.directory().write("stub-nvml", "split 0\nsplit 1\n");
    EXPECT_EQ(failure().message, "") << "both GPUs are split and have no instance";
    tree_.directory().write("proc/driver/nvidia/capabilities/gpu1/mig/gi3/ci0/access", "");
    EXPECT_NE(failure().message.find("CUDA reports 0 of 1 GPUs"), std::string::npos) << failure().message;
    ::unsetenv("STUB_CUDA_FAIL");
    EXPECT_EQ(failure().message, "") << "a process sees one instance of split GPUs";
    std::filesystem::remove_all(tree_.directory().path("proc/driver/nvidia/capabilities"));
    ::setenv("STUB_CUDA_FAIL", "cuInit:100", 1);
    tree_.directory().write("stub-nvml", "");
    EXPECT_NE(failure().message.find("CUDA reports 0 of 2 GPUs"), std::string::npos) << failure().message;
}

TEST_F(Cuda, MissingGpuIsAWarningIfNotRequired) {
    args_["gpus"] = Json::array();
    ::setenv("STUB_CUDA_DEVICES", "1", 1);
    EXPECT_EQ(failure().message, "");
    EXPECT_NE(joined(warnings_).find("CUDA reports 1 of 2 GPUs"), std::string::npos) << joined(warnings_);
    ::setenv("STUB_CUDA_FAIL", "cuInit:100", 1);
    EXPECT_NE(failure().message.find("CUDA reports 0 of 2 GPUs"), std::string::npos) << failure().message;
}

TEST_F(Cuda, FailedCallNamesTheGpuAndCleansUp) {
    for (const char* function :
         {"cuDevicePrimaryCtxRetain", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2",
          "cuMemcpyHtoD_v2", "cuLaunchKernel", "cuCtxSynchronize", "cuMemcpyDtoH_v2"}) {
        ::setenv("STUB_CUDA_FAIL", (std::string(function) + ":719").c_str(), 1);
        testing::internal::CaptureStderr();
        const base::Error error = failure();
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << function;
        EXPECT_NE(error.message.find("0000:64:00.0: stub error 719"), std::string::npos)
            << function << ": " << error.message;
    }
}

TEST_F(Cuda, MissingFabricManagerAtBootIsAccepted) {
    ::setenv("STUB_CUDA_FAIL", "cuInit:802", 1);
    ASSERT_TRUE(apply("driver.compute", args_));
    EXPECT_EQ(output_["waits"], "fabric");
    ::setenv("STUB_CUDA_FAIL", "cuInit:999", 1);
    EXPECT_NE(failure().message.find("starting: stub error 999"), std::string::npos);
}

TEST_F(Cuda, PreflightReportsMissingLibraries) {
    EXPECT_TRUE(says(preflight("driver.compute", args_), "not-found", "libnvidia-ptxjitcompiler.so.1"));
    tree_.directory().write("userland/lib/libnvidia-ptxjitcompiler.so.1", "");
    EXPECT_TRUE(preflight("driver.compute", args_).empty());
    EXPECT_TRUE(says(preflight("driver.compute", {{"userland", ""}}), "not-found", "libcuda.so.1"));
    tree_.directory().write("userland/lib/libcuda.so.1", "no library");
    EXPECT_NE(failure().message.find("libcuda.so.1"), std::string::npos);
}

} // namespace
} // namespace gpuhost::kmod
