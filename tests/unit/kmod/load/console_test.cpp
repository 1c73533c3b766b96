// SPDX-License-Identifier: Apache-2.0
#include "kmod/load/console.hpp"
#include "kmod/load/converge.hpp"
#include "kmod/module/kernel_state.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/kmod/kernel_tree.hpp"

#include <cerrno>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;

class ConsoleFiles : public testing::Test {
  protected:
    void add_framebuffer(const std::string& name, const std::string& id, bool primary = false) const {
        directory_.write("sys/class/graphics/" + name + "/name", id + "\n");
        if (primary)
            directory_.write("sys/class/graphics/" + name + "/device/boot_vga", "1\n");
    }
    void add_console(const std::string& name, const std::string& kind, const std::string& bind) const {
        directory_.write("sys/class/vtconsole/" + name + "/name", kind + "\n");
        directory_.write("sys/class/vtconsole/" + name + "/bind", bind + "\n");
    }
    [[nodiscard]] std::string found() const {
        const auto console = driver_console(root_);
        return console ? console->name + (console->bound ? " bound" : "") : "none";
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(ConsoleFiles, HostWithoutAScreenHasNoConsole) {
    EXPECT_EQ(found(), "none");
    add_framebuffer("fb0", "nvidia-drmdrmfb");
    EXPECT_EQ(found(), "none") << "this kernel has no text console on framebuffers";
    add_console("vtcon0", "(S) dummy device", "1");
    EXPECT_EQ(found(), "none");
}

TEST_F(ConsoleFiles, ConsoleOnTheDriversFramebufferIsFound) {
    add_console("vtcon0", "(S) dummy device", "0");
    add_console("vtcon1", "(M) frame buffer device", "1");
    directory_.write("sys/class/graphics/fbcon/rotate", "0\n");
    EXPECT_EQ(found(), "none");
    add_framebuffer("fb0", "nvidia-drmdrmfb");
    EXPECT_EQ(found(), "vtcon1 bound");
    directory_.write("sys/class/vtconsole/vtcon1/bind", "0\n");
    EXPECT_EQ(found(), "vtcon1");
}

TEST_F(ConsoleFiles, FramebuffersOfOtherDriversAreIgnored) {
    add_console("vtcon1", "(M) frame buffer device", "1");
    for (const char* id : {"EFI VGA", "simpledrmdrmfb", "astdrmfb", "amdgpudrmfb", "nouveaudrmfb", ""}) {
        add_framebuffer("fb0", id);
        EXPECT_EQ(found(), "none") << id;
    }
}

TEST_F(ConsoleFiles, PrimaryOrFirstFramebufferHasTheConsole) {
    add_console("vtcon1", "(M) frame buffer device", "1");
    add_framebuffer("fb0", "astdrmfb");
    add_framebuffer("fb2", "nvidia-drmdrmfb");
    EXPECT_EQ(found(), "none");
    add_framebuffer("fb2", "nvidia-drmdrmfb", true);
    EXPECT_EQ(found(), "vtcon1 bound");
    add_framebuffer("fb0", "astdrmfb", true);
    EXPECT_EQ(found(), "none") << "two primary adapters, which no firmware reports";
    ASSERT_TRUE(root_.remove_tree("/sys/class/graphics/fb0"));
    add_framebuffer("fb10", "astdrmfb", true);
    EXPECT_EQ(found(), "vtcon1 bound") << "ordered by number, not by name";
}

TEST_F(ConsoleFiles, BindingIsWrittenAndVerified) {
    add_console("vtcon1", "(M) frame buffer device", "1");
    EXPECT_EQ(bind_console(root_, "vtcon1", false), 0);
    EXPECT_EQ(directory_.read("sys/class/vtconsole/vtcon1/bind"), "0\n");
    EXPECT_EQ(bind_console(root_, "vtcon1", false), 0);
    EXPECT_EQ(bind_console(root_, "vtcon1", true), 0);
    EXPECT_EQ(directory_.read("sys/class/vtconsole/vtcon1/bind"), "1\n");
    EXPECT_EQ(bind_console(root_, "vtcon7", true), ENOENT);
    directory_.write("sys/class/vtconsole/vtcon1/bind", "1 and it stays so");
    EXPECT_EQ(bind_console(root_, "vtcon1", false), EBUSY);
}

/// 535 runs with the console on its framebuffer; 550 has a framebuffer too.
class ConsoleSwap : public testing::Test {
  protected:
    ConsoleSwap() : old_(tree_.add_modules("535.261.03")), new_(tree_.add_modules("550.163.01")) {
        tree_.add_gpu("0000:65:00.0");
        old_.modules[3].parameters = new_.modules[3].parameters = "modeset=1 fbdev=1";
    }
    void SetUp() override {
        ASSERT_TRUE(to(old_, {}));
        ASSERT_EQ(console(), "1");
        tree_.forget_log();
    }

    base::Result<ConvergeReport> to(const ModuleGoal& goal, const ModuleGoal& before, bool console = true) {
        const auto loader = make_module_loader(tree_.root());
        ConvergeOptions options;
        options.kernel = tests::test_kernel;
        options.before = before;
        options.module_deadline = deadline_;
        options.in_use_patience = std::chrono::milliseconds(50);
        options.console = console;
        return converge(tree_.root(), *loader, goal, options);
    }
    [[nodiscard]] std::string console() const {
        return tree_.root().read_line("/sys/class/vtconsole/vtcon1/bind").value_or("gone");
    }
    [[nodiscard]] std::string loaded() const { return served_version(tree_.root()); }

    std::chrono::milliseconds deadline_{10'000};
    tests::KernelTree tree_;
    ModuleGoal old_;
    ModuleGoal new_;
};

TEST_F(ConsoleSwap, ConsoleIsUnboundBeforeTheUnload) {
    const auto report = to(new_, old_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(tree_.kernel_log().find("unbind vtcon1 \nunload nvidia_drm 535.261.03\n"), 0U)
        << tree_.kernel_log();
    EXPECT_EQ(loaded(), "550.163.01");
    EXPECT_EQ(console(), "1");
    EXPECT_EQ(report->unloaded.size(), 4U) << "only modules";
    EXPECT_EQ(report->loaded.size(), 4U);
    EXPECT_TRUE(report->notes.empty());
    ASSERT_TRUE(to(old_, new_)) << "the undo works the same way";
    EXPECT_EQ(loaded(), "535.261.03");
    EXPECT_EQ(console(), "1");
}

TEST_F(ConsoleSwap, NewDriverWithoutAFramebufferGetsNoConsole) {
    new_.modules[3].parameters = "modeset=1 fbdev=0";
    ASSERT_TRUE(to(new_, old_));
    EXPECT_EQ(console(), "gone");
    tree_.forget_log();
    ASSERT_TRUE(to(old_, new_));
    EXPECT_EQ(tree_.kernel_log().find("bind"), std::string::npos) << "the kernel binds it automatically";
    EXPECT_EQ(console(), "1");
}

TEST_F(ConsoleSwap, ConsoleOnAnotherFramebufferIsKept) {
    tree_.directory().write("sys/class/graphics/fb0/name", "EFI VGA\n");
    ASSERT_TRUE(to(new_, old_));
    EXPECT_EQ(tree_.kernel_log().find("bind"), std::string::npos) << tree_.kernel_log();
}

TEST_F(ConsoleSwap, UnboundConsoleStaysUnbound) {
    ASSERT_EQ(bind_console(tree_.root(), "vtcon1", false), 0);
    tree_.misbehave("unload nvidia_uvm errno 16");
    ASSERT_FALSE(to(new_, old_, false));
    EXPECT_EQ(tree_.kernel_log().find("bind"), std::string::npos) << tree_.kernel_log();
}

TEST_F(ConsoleSwap, ConsoleIsBoundAgainAfterARefusedUnload) {
    tree_.misbehave("unload nvidia_drm errno 16");
    const auto report = to(new_, old_, false);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::InUse);
    EXPECT_NE(report.error().message.find("by the kernel itself"), std::string::npos)
        << report.error().message;
    EXPECT_EQ(tree_.kernel_log(), "unbind vtcon1 \nbind vtcon1 \n");
    EXPECT_EQ(console(), "1");
    EXPECT_EQ(loaded(), "535.261.03");
}

TEST_F(ConsoleSwap, ConsoleThatCannotBeUnboundIsNamed) {
    tree_.misbehave("unbind vtcon1 errno 16");
    const auto report = to(new_, old_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::InUse);
    EXPECT_NE(report.error().message.find("'nvidia_drm': it is in use by the kernel's text console (vtcon1)"),
              std::string::npos)
        << report.error().message;
    EXPECT_EQ(loaded(), "535.261.03");
    EXPECT_EQ(console(), "1");
}

TEST_F(ConsoleSwap, FailedBindDoesNotFailTheSwap) {
    ASSERT_EQ(bind_console(tree_.root(), "vtcon1", false), 0);
    tree_.misbehave("bind vtcon1 errno 5");
    const auto report = to(old_, new_);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->notes.size(), 1U);
    EXPECT_EQ(report->notes[0].find("binding the kernel's text console (vtcon1) to the driver again"), 0U)
        << report->notes[0];
}

TEST_F(ConsoleSwap, HangingUnbindIsReportedInTime) {
    deadline_ = std::chrono::seconds(3);
    tree_.misbehave("unbind vtcon1 hang");
    const auto report = to(new_, old_);
    tree_.misbehave("");
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::RebootRequired);
    EXPECT_NE(report.error().message.find("text console (vtcon1)"), std::string::npos)
        << report.error().message;
}

/// After any crash of a worker, apply and undo end with the console bound as before.
TEST_F(ConsoleSwap, ConsoleIsBoundAgainAfterAnyCrash) {
    for (const char* moment :
         {"unbind vtcon1", "unload nvidia_drm", "unload nvidia", "load nvidia", "load nvidia_drm"})
        for (const bool forward : {true, false}) {
            ASSERT_TRUE(to(old_, new_));
            tree_.misbehave(std::string(moment) + " die");
            ASSERT_FALSE(to(new_, old_)) << moment;
            tree_.misbehave("");
            const auto report = forward ? to(new_, old_) : to(old_, new_);
            ASSERT_TRUE(report) << moment << ": " << report.error().message;
            EXPECT_EQ(loaded(), forward ? "550.163.01" : "535.261.03") << moment;
            EXPECT_EQ(console(), "1") << moment;
        }
}

} // namespace
} // namespace gpuhost::kmod
