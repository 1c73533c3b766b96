// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kmod/store_fixture.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;

class RemoveTest : public StoreTest {
  protected:
    void SetUp() override {
        ASSERT_TRUE(import(packages()));
        ASSERT_TRUE(import(modules()));
    }
    std::vector<core::Problem> preflight() {
        auto made = context();
        return code("store.remove").preflight(made, args_).value();
    }
    [[nodiscard]] std::string version_path() const { return "/var/lib/gpuhost/driver/" + test_version; }
    void expect_refused(const std::string& text) {
        const auto problems = preflight();
        ASSERT_EQ(problems.size(), 1U);
        EXPECT_EQ(problems[0].code, Errc::InUse);
        EXPECT_NE(problems[0].text.find(text), std::string::npos) << problems[0].text;
        EXPECT_FALSE(apply("store.remove", args_)) << "apply checks again";
        EXPECT_TRUE(root_.exists(version_path()));
    }

    base::Json args_{{"version", test_version}};
};

TEST_F(RemoveTest, VersionIsRenamedThenDeleted) {
    EXPECT_TRUE(preflight().empty());
    ASSERT_TRUE(apply("store.remove", args_));
    EXPECT_TRUE(store().versions.empty());
    ASSERT_TRUE(apply("store.remove", args_)) << "run again after a crash";
    ASSERT_TRUE(apply("store.purge", args_));
    ASSERT_TRUE(apply("store.purge", args_));
    EXPECT_FALSE(root_.exists("/var/lib/gpuhost/driver/.trash"));
}

TEST_F(RemoveTest, UndoRestoresTheVersion) {
    ASSERT_TRUE(undo("store.remove", args_)) << "before apply";
    ASSERT_TRUE(apply("store.remove", args_));
    ASSERT_TRUE(undo("store.remove", args_));
    ASSERT_TRUE(undo("store.remove", args_));
    EXPECT_EQ(store().versions.size(), 1U);
    EXPECT_TRUE(apply("store.verify"));
}

TEST_F(RemoveTest, UndoRestoresOneVersionAtATime) {
    const std::string other = "470.1.1";
    directory_.write("var/lib/gpuhost/driver/" + other + "/userland/x/file", "its content");
    const base::Json others{{"version", other}};
    ASSERT_TRUE(apply("store.remove", others));
    ASSERT_TRUE(apply("store.remove", args_));
    ASSERT_TRUE(undo("store.remove", args_));
    ASSERT_TRUE(undo("store.remove", others));
    EXPECT_EQ(root_.read("/var/lib/gpuhost/driver/" + other + "/userland/x/file").value(), "its content");
    EXPECT_TRUE(root_.exists(version_path()));
    EXPECT_TRUE(root_.list("/var/lib/gpuhost/driver/.trash")->empty());
}

TEST_F(RemoveTest, PurgeRemovesTheVersionFromSelections) {
    const Generation gone{test_version, "", "digest"};
    const Generation other{"535.261.03", "", "other"};
    ASSERT_TRUE(write_selection(root_, test_kernel, {other, gone}));
    ASSERT_TRUE(write_selection(root_, "6.1.0-1-amd64", {gone, other})); // no longer installed
    ASSERT_TRUE(apply("store.remove", args_));
    EXPECT_EQ(read_selection(root_, test_kernel).value()->previous, gone) << "undo may restore it";
    ASSERT_TRUE(apply("store.purge", args_));
    EXPECT_EQ(read_selection(root_, test_kernel).value(), (Selection{other, std::nullopt}));
    EXPECT_EQ(read_selection(root_, "6.1.0-1-amd64").value(), std::nullopt);
}

TEST_F(RemoveTest, UnreadableSelectionRefusesTheRemoval) {
    directory_.write("lib/modules/" + test_kernel + "/modules.builtin", "");
    directory_.write("var/lib/gpuhost/driver/selected/" + test_kernel, "damaged");
    auto made = context();
    EXPECT_FALSE(code("store.remove").preflight(made, args_));
}

TEST_F(RemoveTest, RefusesTheSelectedVersion) {
    directory_.write("lib/modules/" + test_kernel + "/modules.builtin", "");
    ASSERT_TRUE(write_selection(root_, test_kernel, {{test_version, "", "digest"}, std::nullopt}));
    expect_refused("selected for kernel " + test_kernel);
}

TEST_F(RemoveTest, RefusesTheLoadedVersion) {
    directory_.write("sys/module/nvidia/version", test_version + "\n");
    expect_refused("is loaded");
}

TEST_F(RemoveTest, UnknownVersionIsNotFound) {
    args_ = {{"version", "1.2.3"}};
    const auto problems = preflight();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].code, Errc::NotFound);
    args_ = {{"version", "../550"}};
    auto made = context();
    EXPECT_FALSE(code("store.remove").preflight(made, args_));
}

TEST_F(RemoveTest, RefusesFilesMappedUnderAnyName) {
    const std::string library = store().versions[0].userland[0].path + "/lib/libnvidia-ml.so." + test_version;
    const auto inode = root_.stat(library)->st_ino;
    directory_.write("proc/7/comm", "python3\n");
    directory_.write("proc/7/stat", "7 (python3)");
    directory_.write("proc/7/maps", "7f0000000000-7f0000001000 r-xp 00000000 00:2a " + std::to_string(inode) +
                                        "    /usr/lib/x86_64-linux-gnu/libnvidia-ml.so." + test_version +
                                        "\n");
    expect_refused("process 7 (python3) uses /usr/lib/x86_64-linux-gnu/libnvidia-ml.so");
    directory_.write("proc/7/maps",
                     "7f0000000000-7f0000001000 r-xp 00000000 00:2a 1    " + library + " (deleted)\n");
    expect_refused("process 7 (python3) uses " + library);
}

TEST_F(RemoveTest, RefusesFilesMountedInAContainer) {
    directory_.write("proc/9/comm", "sleep\n");
    directory_.write("proc/9/stat", "9 (sleep)");
    directory_.write("proc/9/maps", "");
    directory_.write("proc/9/mountinfo",
                     "22 1 8:1 /gpuhost/driver/" + test_version +
                         "/userland/x/lib/libcuda.so.1 /usr/lib/libcuda.so.1 ro - ext4 /dev/sda1 rw\n");
    ASSERT_TRUE(root_.make_directories("/proc/9/ns"));
    ASSERT_TRUE(root_.symlink_atomic("mnt:[4026531841]", "/proc/9/ns/mnt"));
    expect_refused("process 9 (sleep) uses /usr/lib/libcuda.so.1");
}

TEST_F(RemoveTest, OtherProcessesAreIgnored) {
    directory_.write("proc/7/comm", "bash\n");
    directory_.write("proc/7/stat", "7 (bash)");
    directory_.write("proc/7/maps", "7f0000000000-7f0000001000 r-xp 00000000 08:01 1    /usr/bin/bash\n"
                                    "7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0    [stack]\n");
    directory_.write("proc/7/mountinfo",
                     "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                     "23 1 8:1 /var/lib/gpuhost/driver/550.163.010 /x rw - ext4 /dev/sda1 rw\n");
    ASSERT_TRUE(root_.make_directories("/proc/7/ns"));
    ASSERT_TRUE(root_.symlink_atomic("mnt:[1]", "/proc/7/ns/mnt"));
    EXPECT_TRUE(preflight().empty());
}

/// Uses the real /proc of a process that maps a file of the store.
TEST_F(RemoveTest, RealMappingIsRecognized) {
    const std::string library = store().versions[0].userland[0].path + "/lib/libnvidia-ml.so." + test_version;
    const base::UniqueFd fd(::open(directory_.path(library).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd);
    void* mapped = ::mmap(nullptr, 64, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const auto maps = base::Root::open("/")->read("/proc/self/maps", std::size_t{64} << 20U);
    ::munmap(mapped, 64);
    ASSERT_TRUE(maps) << maps.error().message;
    directory_.write("proc/7/comm", "python3\n");
    directory_.write("proc/7/stat", "7 (python3)");
    directory_.write("proc/7/maps", *maps);
    expect_refused("process 7 (python3) uses " + directory_.path(library));
}

TEST_F(RemoveTest, UnreadableProcessRefusesTheRemoval) {
    directory_.write("proc/7/stat", "7 (secret)");
    ASSERT_TRUE(root_.make_directories("/proc/7/maps")); // cannot be read
    auto made = context();
    EXPECT_FALSE(code("store.remove").preflight(made, args_));
}

/// One module set of a version, for a removed kernel.
class RemoveSetTest : public RemoveTest {
  protected:
    void SetUp() override {
        RemoveTest::SetUp();
        ASSERT_TRUE(import(modules(test_version, gone_)));
        directory_.write("proc/sys/kernel/osrelease", test_kernel + "\n");
        args_ = {{"version", test_version}, {"kernel", gone_}, {"flavour", "open"}, {"digest", digest()}};
    }
    [[nodiscard]] std::string digest() const {
        const Store now = store();
        const ModuleSet* const set = now.modules_for(test_version, gone_);
        return set != nullptr ? set->digest : "";
    }
    [[nodiscard]] std::string kernels() const {
        const Store now = store();
        std::string found;
        for (const ModuleSet& set : now.versions.at(0).modules)
            found += set.kernel + " ";
        return found;
    }

    const std::string gone_ = "6.1.0-40-amd64";
};

TEST_F(RemoveSetTest, SetIsRemovedAndTheVersionKept) {
    EXPECT_TRUE(preflight().empty());
    ASSERT_TRUE(write_selection(root_, test_kernel, {{test_version, "", "digest"}, std::nullopt}));
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(apply("store.remove", args_)) << i;
    EXPECT_EQ(kernels(), test_kernel + " ");
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(apply("store.purge", args_)) << i;
    EXPECT_FALSE(root_.exists(version_path() + "/modules/" + gone_ + "-open"))
        << "no empty directory is left";
    EXPECT_FALSE(root_.exists("/var/lib/gpuhost/driver/.trash"));
    EXPECT_TRUE(apply("store.verify"));
    EXPECT_TRUE(read_selection(root_, test_kernel).value()) << "selections of other kernels are kept";
}

TEST_F(RemoveSetTest, UndoRestoresTheSet) {
    const std::string all = kernels();
    ASSERT_TRUE(undo("store.remove", args_)) << "before apply";
    ASSERT_TRUE(apply("store.remove", args_));
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(undo("store.remove", args_)) << i;
    EXPECT_EQ(kernels(), all);
    EXPECT_TRUE(root_.list("/var/lib/gpuhost/driver/.trash")->empty());
    EXPECT_TRUE(apply("store.verify"));
}

TEST_F(RemoveSetTest, UndoRestoresOneSetAtATime) {
    const std::string all = kernels();
    Json other = args_;
    other["kernel"] = test_kernel;
    other["digest"] = store().modules_for(test_version, test_kernel)->digest;
    directory_.write("proc/sys/kernel/osrelease", "6.6.6\n");
    ASSERT_TRUE(apply("store.remove", args_));
    ASSERT_TRUE(apply("store.remove", other));
    ASSERT_TRUE(undo("store.remove", other));
    ASSERT_TRUE(undo("store.remove", args_));
    EXPECT_EQ(kernels(), all);
}

TEST_F(RemoveSetTest, LastSetRemovesItsVersion) {
    ASSERT_TRUE(root_.remove_tree(version_path() + "/userland"));
    ASSERT_TRUE(root_.remove_tree(version_path() + "/source"));
    ASSERT_TRUE(root_.remove_tree(version_path() + "/modules/" + test_kernel + "-open"));
    ASSERT_TRUE(apply("store.remove", args_));
    ASSERT_TRUE(apply("store.purge", args_));
    EXPECT_FALSE(root_.exists(version_path()));
    EXPECT_TRUE(root_.exists("/var/lib/gpuhost/driver"));
}

TEST_F(RemoveSetTest, InstalledKernelRefusesTheRemoval) {
    directory_.write("lib/modules/" + gone_ + "/modules.builtin", "");
    expect_refused("kernel " + gone_ + " is installed");
    ASSERT_TRUE(root_.remove_tree("/lib/modules"));
    directory_.write("proc/sys/kernel/osrelease", gone_ + "\n");
    expect_refused("kernel " + gone_ + " is installed");
}

/// A superseded set of the running kernel.
class RemoveSupersededTest : public RemoveSetTest {
  protected:
    void SetUp() override {
        RemoveSetTest::SetUp();
        args_["kernel"] = test_kernel;
        args_["digest"] = store().modules_for(test_version, test_kernel)->digest;
        Inputs inputs = modules();
        inputs.pop_back();
        ASSERT_TRUE(import(inputs));
    }
    void load(const std::string& module) {
        directory_.write("sys/module/" + module + "/initstate", "live\n");
        directory_.write("sys/module/" + module + "/srcversion", "0123456789ABCDEF0123456\n");
    }
    /// Imports a set whose module nvidia is of another source, and returns its digest.
    std::string import_other() {
        std::string other = tests::nvidia_module("nvidia", test_version, test_kernel, "drm");
        other.replace(other.find("0123456789ABCDEF"), 1, "F");
        EXPECT_TRUE(import({{"nvidia.ko", other}}));
        return store().modules_for(test_version, test_kernel)->digest;
    }
};

TEST_F(RemoveSupersededTest, SupersededSetIsRemoved) {
    EXPECT_TRUE(preflight().empty());
    ASSERT_TRUE(apply("store.remove", args_));
    ASSERT_TRUE(undo("store.remove", args_));
    ASSERT_TRUE(apply("store.remove", args_));
    ASSERT_TRUE(apply("store.purge", args_));
    const Store now = store();
    EXPECT_EQ(now.find_modules(test_version, base::string_or(args_, "digest", "")), nullptr);
    EXPECT_EQ(now.modules_for(test_version, test_kernel)->modules.size(), 1U);
}

TEST_F(RemoveSupersededTest, SelectedSetIsRefused) {
    directory_.write("lib/modules/" + test_kernel + "/modules.builtin", "");
    const Generation other{"535.261.03", "", "other"};
    const Generation superseded{test_version, "", args_["digest"]};
    ASSERT_TRUE(write_selection(root_, test_kernel, {superseded, std::nullopt}));
    expect_refused("are selected for kernel " + test_kernel);
    ASSERT_TRUE(write_selection(root_, test_kernel, {other, superseded}));
    expect_refused("are selected for kernel " + test_kernel);
}

TEST_F(RemoveSupersededTest, LoadedSetIsRefused) {
    load("nvidia");
    EXPECT_TRUE(preflight().empty()) << "an undo loads the newest, which is of the same source";
    load("nvidia_uvm");
    expect_refused("are loaded");
}

/// Three sets: a newer one has the loaded source too, the newest has another one.
TEST_F(RemoveSupersededTest, SetIsRemovedWhileAnotherIsLoaded) {
    load("nvidia");
    const std::string rebuilt = store().modules_for(test_version, test_kernel)->digest;
    const std::string newest = import_other();
    directory_.write("lib/modules/" + test_kernel + "/modules.builtin", "");
    for (const std::string& selected : {rebuilt, newest, std::string("gone")}) {
        ASSERT_TRUE(write_selection(root_, test_kernel, {{test_version, "", selected}, std::nullopt}));
        EXPECT_TRUE(preflight().empty()) << selected;
    }
    args_["digest"] = rebuilt;
    expect_refused("are loaded");
}

TEST_F(RemoveSupersededTest, SetImportedAgainIsRefused) {
    ASSERT_TRUE(import(modules()));
    expect_refused("kernel " + test_kernel + " is installed");
}

TEST_F(RemoveSetTest, OtherPathsOfTheStoreAreRefused) {
    for (const auto& [key, value] :
         {std::pair("kernel", "../../x"), std::pair("flavour", "../x"), std::pair("digest", ".."),
          std::pair("digest", ""), std::pair("version", "..")}) {
        Json args = args_;
        args[key] = value;
        EXPECT_FALSE(apply("store.remove", args)) << key;
        EXPECT_FALSE(apply("store.purge", args)) << key;
    }
    args_["digest"] = std::string(64, 'a');
    const auto problems = preflight();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].code, Errc::NotFound);
}

} // namespace
} // namespace gpuhost::kmod
