// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/process.hpp"
#include "kmod/load/autoload_block.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/kmod/kernel_tree.hpp"

#include <array>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::kmod {
namespace {

TEST(AutoloadBlock, BlocksEachModuleOnce) {
    EXPECT_EQ(
        autoload_block_content({"nvidia_uvm", "nvidia", "nvidia"}).substr(autoload_block_content({}).size()),
        "softdep nvidia pre:\ninstall nvidia /bin/false\n"
        "softdep nvidia_uvm pre:\ninstall nvidia_uvm /bin/false\n");
}

const std::string kernel(tests::test_kernel);

base::Result<base::Finished> run(std::vector<std::string> argv) {
    base::Command command;
    command.argv = std::move(argv);
    return base::run(command);
}

/// Returns the actions of modprobe for a name, with only the configuration of a tree.
std::string modprobe(const tests::TempDir& directory, const std::string& name) {
    const auto done = run({"modprobe", "--dry-run", "--verbose", "--dirname", directory.path(""),
                           "--set-version", kernel, "--config", directory.path("run/modprobe.d"), name});
    return done ? done->output : done.error().message;
}

TEST(AutoloadBlock, BlocksModprobeWithAnySoftdeps) {
    const tests::TempDir directory;
    const std::string modules = "lib/modules/" + kernel;
    for (const std::string name : {"nvidia", "nvidia_uvm", "vfio_pci"})
        directory.write(
            modules + "/updates/" + name + ".ko",
            tests::module_image({{"name", name},
                                 {"alias", name == "nvidia" ? "pci:v000010DEd*" : name + "-alias"},
                                 {"depends", name == "nvidia_uvm" ? "nvidia" : ""}}));
    directory.write(modules + "/modules.order", "");
    directory.write(modules + "/modules.builtin", "");
    const auto indexed = run({"depmod", "--basedir", directory.path(""), kernel});
    if (!indexed)
        GTEST_SKIP() << "no depmod here: " << indexed.error().message;
    ASSERT_EQ(indexed->exit_status, 0) << indexed->output;
    directory.write("run/modprobe.d/50-others.conf", "softdep nvidia pre: vfio_pci post: nvidia_uvm\n"
                                                     "softdep nvidia_uvm post: vfio_pci\n");
    EXPECT_NE(modprobe(directory, "nvidia").find("nvidia.ko"), std::string::npos)
        << modprobe(directory, "nvidia");
    ASSERT_TRUE(block_autoload(directory.root(), {"nvidia", "nvidia_uvm"}));
    for (const std::string name : {"nvidia", "nvidia_uvm", "pci:v000010DEd00002330sv00bc03"})
        EXPECT_EQ(modprobe(directory, name), "install /bin/false \n") << name;
}

TEST(AutoloadBlock, BlockAndUnblockAreRepeatable) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    EXPECT_FALSE(autoload_blocked(root));
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(block_autoload(root, {"nvidia"}));
        EXPECT_TRUE(autoload_blocked(root));
    }
    EXPECT_NE(directory.read("run/modprobe.d/00-gpuhost-block.conf").find("install nvidia /bin/false"),
              std::string::npos);
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(unblock_autoload(root));
        EXPECT_FALSE(autoload_blocked(root));
    }
}

TEST(AutoloadBlock, BlockUpdatesTheMtimeOfModprobed) {
    const tests::TempDir directory;
    directory.write("etc/modprobe.d/x.conf", "");
    const std::string known = directory.path("etc/modprobe.d");
    const std::array<timespec, 2> long_ago{};
    ASSERT_EQ(::utimensat(AT_FDCWD, known.c_str(), long_ago.data(), 0), 0);
    ASSERT_TRUE(block_autoload(directory.root(), {"nvidia"}));
    EXPECT_GT(directory.root().stat("/etc/modprobe.d")->st_mtime, 0);
}

} // namespace
} // namespace gpuhost::kmod
