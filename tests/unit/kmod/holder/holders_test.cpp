// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "kmod/device/devices.hpp"
#include "kmod/holder/holders.hpp"
#include "kmod/load/converge.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/kmod/kernel_tree.hpp"

#include <array>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

class Holders : public testing::Test {
  protected:
    void SetUp() override {
        tree_.add_gpu("0000:65:00.0");
        const ModuleGoal goal = tree_.add_modules("535.261.03");
        const auto loader = make_module_loader(tree_.root());
        ASSERT_TRUE(converge(tree_.root(), *loader, goal, {}));
        ASSERT_TRUE(make_devices(tree_.root()));
    }

    tests::KernelTree tree_;
};

TEST_F(Holders, FoundByDeviceNumberOrMapping) {
    tree_.add_process(100, "smi", "/user.slice/user-0.slice/session-1.scope", "/dev/nvidiactl");
    tree_.add_process(101, "uvm", "/system.slice/train.service", "/dev/nvidia-uvm");
    tree_.add_process(102, "cat", "/system.slice/other.service", "/dev/null");
    tree_.add_process(103, "mapped", "/system.slice/mapped.service", "/dev/null");
    tree_.directory().write("proc/103/maps", "7f00-7f01 rw-s 00000000 00:06 412   /dev/nvidia0\n");
    const auto found = find_holders(tree_.root());
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].devices, std::vector<std::string>{"195:255"});
    EXPECT_EQ(found[1].devices, std::vector<std::string>{"236:0"}) << "nvidia-uvm has a dynamic major";
    EXPECT_EQ(found[2].devices, std::vector<std::string>{"/dev/nvidia0 (mapped)"});
    EXPECT_TRUE(holds_driver(tree_.root(), 101));
    EXPECT_FALSE(holds_driver(tree_.root(), 102));
}

TEST_F(Holders, DriAndGdrdrvDevicesCount) {
    tree_.directory().write("dev/dri/card0", "c 226:0 666\n");
    tree_.directory().write("dev/dri/card1", "c 226:1 666\n");
    tree_.directory().write("dev/dri/renderD129", "c 226:129 666\n");
    tree_.directory().write("dev/gdrdrv", "c 511:0 666\n");
    for (const auto& [device, driver] :
         {std::pair("226:0", "ast"), {"226:1", "nvidia"}, {"226:129", "nouveau"}}) {
        const std::string directory = "/sys/dev/char/" + std::string(device) + "/device";
        ASSERT_TRUE(tree_.root().make_directories(directory));
        ASSERT_TRUE(tree_.root().symlink_atomic("../../../../bus/pci/drivers/" + std::string(driver),
                                                directory + "/driver"));
    }
    tree_.directory().write("proc/devices", "Character devices:\n226 drm\n511 gdrdrv\n");
    tree_.add_process(100, "bmc", "/system.slice/a.service", "/dev/dri/card0");
    tree_.add_process(101, "Xorg", "/system.slice/b.service", "/dev/dri/card1");
    tree_.add_process(102, "mapper", "/system.slice/c.service", "/dev/null");
    tree_.directory().write("proc/102/maps", "7f00-7f01 rw-s 00000000 00:06 412   /dev/dri/renderD129\n");
    tree_.add_process(103, "gdrcopy", "/system.slice/d.service", "/dev/gdrdrv");
    std::vector<pid_t> found;
    for (const Holder& holder : find_holders(tree_.root()))
        found.push_back(holder.pid);
    EXPECT_EQ(found, (std::vector<pid_t>{101, 102, 103})) << "the BMC's display has another driver";
    EXPECT_TRUE(holds_driver(tree_.root(), 101));
}

TEST_F(Holders, MappedFileWithSuchANameIsIgnored) {
    const std::string map = "7f00-7f01 r-xp 00000000 fd:01 131   /srv/dev/nvidia-sdk/x.so\n";
    tree_.directory().write("srv/dev/nvidia-sdk/x.so", "a library");
    tree_.add_process(100, "mapper", "/system.slice/mapper.service", "/dev/null");
    tree_.directory().write("proc/100/maps", map);
    EXPECT_EQ(find_holders(tree_.root()).size(), 0U);
}

TEST_F(Holders, MappedDeviceOfAContainerCounts) {
    tree_.add_process(100, "contained", "/docker/x", "/dev/null");
    tree_.directory().write("container/dev/nvidia7", "c 195:7 666\n");
    tree_.directory().write("proc/100/maps", "7f00-7f01 rw-s 00000000 00:6b 412   /dev/nvidia7\n");
    EXPECT_EQ(find_holders(tree_.root()).size(), 0U);
    ASSERT_TRUE(tree_.root().symlink_atomic("../../container", "/proc/100/root"));
    EXPECT_EQ(find_holders(tree_.root()).size(), 1U);
}

TEST_F(Holders, HoldersInUnitsToBeStoppedAreIgnored) {
    tree_.add_process(100, "pd", "/system.slice/nvidia-persistenced.service", "/dev/nvidiactl");
    tree_.add_process(101, "python3", "/system.slice/train.service", "/dev/nvidiactl");
    const auto left = without_units(find_holders(tree_.root()), {"nvidia-persistenced.service"});
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(describe(left), "process 101 (python3) of train.service");
}

TEST_F(Holders, DescriptionNamesPodAndContainer) {
    Holder holder{7, "python3", {}, {}};
    holder.origin.container = std::string(64, 'a');
    EXPECT_EQ(describe(holder), "process 7 (python3) of container aaaaaaaaaaaa");
    holder.origin.pod = "8f0c2d3e-1111-2222-3333-444455556666";
    EXPECT_EQ(describe(holder),
              "process 7 (python3) of pod 8f0c2d3e-1111-2222-3333-444455556666, container aaaaaaaaaaaa");
    EXPECT_NE(describe(std::vector<Holder>(9, holder)).find("and 4 more"), std::string::npos);
}

TEST_F(Holders, HoldersAreGroupedByOriginPodsFirst) {
    std::vector<Holder> holders;
    for (pid_t pid = 100; pid < 107; ++pid)
        holders.push_back({pid, "python3", {"train.service", "", ""}, {}});
    holders.push_back({200, "serve", {"", std::string(64, 'b'), "8f0c2d3e-1111-2222-3333-444455556666"}, {}});
    const std::vector<HolderGroup> groups = group_by_origin(holders);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(describe_group(groups[0]),
              "process 200 (serve) of pod 8f0c2d3e-1111-2222-3333-444455556666, container bbbbbbbbbbbb");
    EXPECT_EQ(
        describe_group(groups[1]),
        "processes 100 (python3), 101 (python3), 102 (python3), 103 (python3), 104 (python3) and 2 more of "
        "train.service");
    EXPECT_EQ(group_to_json(groups[1])["processes"], 7);
    EXPECT_EQ(group_to_json(groups[1])["pid"], 100);
}

std::string held; ///< the descriptor's link in the process to be ended

void let_go(int /*signal*/) {
    (void)::unlink(held.c_str());
}

void end_slowly(int /*signal*/) {
    (void)::unlink(held.c_str());
    (void)::usleep(1'000'000);
    ::_exit(0);
}

/// A real process that holds the driver according to the tree.
class Terminating : public Holders {
  protected:
    /// Starts the process. On a signal it closes everything, unless `others`.
    void start(void (*on_term)(int), const char* name = "sleeper", bool others = true) {
        std::array<int, 2> ready{};
        ASSERT_EQ(::pipe(ready.data()), 0);
        const base::UniqueFd reader(ready[0]);
        base::UniqueFd writer(ready[1]);
        pid_ = ::fork();
        if (pid_ == 0)
            sleep(writer.get(), on_term);
        ASSERT_GT(pid_, 0);
        writer.reset(); // so that its death is visible too
        char byte = 0;
        ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
        tree_.add_process(pid_, name, "/system.slice/train.service", "/dev/nvidiactl");
        if (others)
            tree_.directory().write("proc/" + std::to_string(pid_) + "/fd/0", "");
    }

    void TearDown() override {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    /// Returns the signal that ended the process, or 0.
    int signal_that_ended_it() {
        int status = 0;
        if (!tests::eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }))
            return 0;
        pid_ = 0;
        return WTERMSIG(status);
    }

    pid_t pid_ = 0;

  private:
    [[noreturn]] void sleep(int ready, void (*on_term)(int)) const {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)::alarm(60);
        held = tree_.directory().path("proc/" + std::to_string(::getpid()) + "/fd/7");
        ::signal(SIGTERM, on_term);
        (void)!::write(ready, "x", 1);
        for (;;)
            ::pause();
    }
};

TEST_F(Terminating, SigtermIsSentFirst) {
    ASSERT_NO_FATAL_FAILURE(start(SIG_DFL));
    EXPECT_TRUE(terminate(tree_.root(), find_holders(tree_.root()), std::chrono::seconds(20)));
    EXPECT_EQ(signal_that_ended_it(), SIGTERM);
}

TEST_F(Terminating, SigkillFollowsAfterTheGracePeriod) {
    ASSERT_NO_FATAL_FAILURE(start(SIG_IGN));
    EXPECT_TRUE(terminate(tree_.root(), find_holders(tree_.root()), std::chrono::milliseconds(50)));
    EXPECT_EQ(signal_that_ended_it(), SIGKILL);
}

TEST_F(Terminating, ProcessThatClosesTheDeviceIsKept) {
    ASSERT_NO_FATAL_FAILURE(start(let_go));
    EXPECT_TRUE(terminate(tree_.root(), find_holders(tree_.root()), std::chrono::milliseconds(500)));
    EXPECT_TRUE(find_holders(tree_.root()).empty());
    EXPECT_EQ(::waitpid(pid_, nullptr, WNOHANG), 0) << "the process is alive";
}

TEST_F(Terminating, EndingProcessIsAwaited) {
    ASSERT_NO_FATAL_FAILURE(start(end_slowly, "sleeper", false));
    EXPECT_TRUE(terminate(tree_.root(), find_holders(tree_.root()), std::chrono::milliseconds(300)));
    ASSERT_EQ(::waitpid(pid_, nullptr, WNOHANG), pid_) << "the driver may still be in use";
    pid_ = 0;
}

TEST_F(Terminating, ProcessNameDoesNotProtect) {
    ASSERT_NO_FATAL_FAILURE(start(SIG_DFL, "gpuhostd"));
    EXPECT_TRUE(terminate(tree_.root(), find_holders(tree_.root()), std::chrono::seconds(20)));
    EXPECT_EQ(signal_that_ended_it(), SIGTERM);
}

TEST_F(Terminating, FormerHolderIsKept) {
    ASSERT_NO_FATAL_FAILURE(start(SIG_DFL));
    const auto holders = find_holders(tree_.root());
    ASSERT_TRUE(tree_.root().remove("/proc/" + std::to_string(pid_) + "/fd/7"));
    EXPECT_TRUE(terminate(tree_.root(), holders, std::chrono::milliseconds(50)));
    EXPECT_EQ(::waitpid(pid_, nullptr, WNOHANG), 0) << "the process is alive";
}

TEST_F(Terminating, InitAndItselfAreRefused) {
    Holder init{1, "systemd", {}, {}};
    Holder worker{99999, "x", {}, {}};
    worker.origin.unit = "gpuhost-worker-1.service";
    const Holder itself{::getpid(), "x", {}, {}};
    const Holder launcher{::getppid(), "x", {}, {}};
    for (const Holder& holder : {init, worker, itself, launcher}) {
        const auto done = terminate(tree_.root(), {holder}, std::chrono::milliseconds(1));
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, base::Errc::InUse);
    }
}

} // namespace
} // namespace gpuhost::kmod
