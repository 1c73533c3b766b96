// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/initramfs_images.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using Paths = std::vector<std::string>;

class BootImagesTest : public testing::Test {
  protected:
    [[nodiscard]] Paths paths(const std::string& kernel = "6.1.0-50-amd64") const {
        Paths found;
        for (const BootImage& image : boot_images_of(root_, kernel))
            found.push_back(image.path);
        return found;
    }
    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(BootImagesTest, ImagesAreFoundByKernelRelease) {
    EXPECT_EQ(paths(), Paths());
    for (const char* file : {"boot/initrd.img-6.1.0-50-amd64", "boot/initramfs-6.1.0-50-amd64.img",
                             "boot/initrd.img-6.1.0-51-amd64", "boot/initrd.img-6.1.0-50-amd64.bak"})
        directory_.write(file, "");
    std::filesystem::create_directories(directory_.path("boot/initrd.img-6.1.0-52-amd64"));
    EXPECT_EQ(paths(), (Paths{"/boot/initrd.img-6.1.0-50-amd64", "/boot/initramfs-6.1.0-50-amd64.img"}));
    EXPECT_EQ(paths("6.1.0-52-amd64"), Paths()) << "not a regular file";
}

TEST_F(BootImagesTest, EntriesAreFoundByTheSystemsTokens) {
    directory_.write("etc/kernel/entry-token", "site\n");
    directory_.write("etc/machine-id", "5f3c\n");
    directory_.write("etc/os-release", "ID='debian'\nIMAGE_ID=\"gpu\"\nVERSION_ID=12\n");
    Paths wanted;
    for (const char* token : {"site", "5f3c", "gpu", "debian", "Default"})
        wanted.push_back("/efi/" + std::string(token) + "/6.1.0-50-amd64/initrd");
    for (const std::string& path : wanted)
        directory_.write(path, "");
    directory_.write("efi/another/6.1.0-50-amd64/initrd", "");
    directory_.write("efi/5f3c/6.1.0-51-amd64/initrd", "");
    EXPECT_EQ(paths(), Paths{wanted.front()}) << "a configured token is the only one";
    directory_.write("etc/kernel/entry-token", "../efi/another\n");
    wanted.erase(wanted.begin());
    EXPECT_EQ(paths(), wanted) << "a token must be a file name";
}

/// Makes `directory` an unserved automount in a private mount namespace.
bool mount_on_demand(const std::string& directory, int pipe) {
    const std::string options = "fd=" + std::to_string(pipe) + ",pgrp=1,minproto=5,maxproto=5,direct";
    return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("test", directory.c_str(), "autofs", 0, options.c_str()) == 0;
}

TEST_F(BootImagesTest, AutomountsAreNotTriggered) {
    constexpr int cannot_mount = 77;
    directory_.write("boot/efi/EFI/Linux/a.efi", "");
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (!mount_on_demand(directory_.path("boot"), pipe[1]))
            ::_exit(cannot_mount);
        const base::Root root = directory_.root(); // in this namespace
        ::_exit(boot_images_of(root, "6.1.0-50-amd64", OnDemand::Leave).empty() &&
                        boot_directories(root, OnDemand::Leave).empty()
                    ? 0
                    : 1);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    const bool ended = tests::eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; });
    if (!ended) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    ::close(pipe[0]);
    ::close(pipe[1]);
    ASSERT_TRUE(ended) << "it blocks on the mount";
    if (WEXITSTATUS(status) == cannot_mount)
        GTEST_SKIP() << "mounting autofs needs root";
    EXPECT_EQ(status, 0);
}

TEST_F(BootImagesTest, OnlyInitrdFilesOfAnEntryCount) {
    directory_.write("etc/machine-id", "5f3c\n");
    const std::string entry = "/boot/efi/5f3c/6.1.0-50-amd64/";
    for (const char* name : {"initrd", "initrd.img-6.1.0-50-amd64", "initrd-2", "initrd.gpuhost",
                             "initrd.new", "initrd-old.bak", "linux", "board.dtb"})
        directory_.write(entry + name, "");
    EXPECT_EQ(paths(), (Paths{entry + "initrd", entry + "initrd-2", entry + "initrd.img-6.1.0-50-amd64"}));
}

TEST_F(BootImagesTest, UnifiedImagesMatchByTheirRelease) {
    const std::string linux = "/efi/EFI/Linux/";
    for (const char* name : {"5f3c-6.1.0-50-amd64.efi", "a-6.1.0-50-amd64+3.efi", "b-6.1.0-50-amd64+2-1.efi",
                             "6.1.0-50-amd64.efi", "a-6.1.0-51-amd64.efi", "a-6.1.0-50-amd64+x.efi",
                             "a-6.1.0-50-amd64.efi.extra", "a6.1.0-50-amd64.efi", "amd64.efi", ".efi"})
        directory_.write(linux + name, "");
    EXPECT_EQ(paths(), (Paths{linux + "5f3c-6.1.0-50-amd64.efi", linux + "6.1.0-50-amd64.efi",
                              linux + "a-6.1.0-50-amd64+3.efi", linux + "b-6.1.0-50-amd64+2-1.efi"}));
    directory_.write(linux + "a-6.12+4.efi", "");
    EXPECT_EQ(paths("6.12+4"), Paths{linux + "a-6.12+4.efi"}) << "a release may end like a boot counter";
}

TEST_F(BootImagesTest, DirectoryWithTwoNamesIsListedOnce) {
    directory_.write("boot/efi/EFI/Linux/a-6.1.0-50-amd64.efi", "");
    std::filesystem::create_directory_symlink("boot/efi", directory_.path("efi"));
    EXPECT_EQ(boot_directories(root_), (Paths{"/boot", "/efi"}));
    EXPECT_EQ(paths(), Paths{"/efi/EFI/Linux/a-6.1.0-50-amd64.efi"});
}

TEST_F(BootImagesTest, EachImageHasACommandToRebuildIt) {
    const auto command = [&](BootImage::Kind kind) {
        return command_to_make(root_, {kind, "/boot/i"}, "6.1");
    };
    EXPECT_EQ(command(BootImage::Kind::Initramfs), "dracut --force /boot/i 6.1");
    EXPECT_EQ(command(BootImage::Kind::Entry), "kernel-install add 6.1 /lib/modules/6.1/vmlinuz");
    directory_.write("boot/vmlinuz-6.1", "");
    directory_.write("usr/sbin/update-initramfs", "");
    EXPECT_EQ(command(BootImage::Kind::Unified), "kernel-install add 6.1 /boot/vmlinuz-6.1");
    EXPECT_EQ(command(BootImage::Kind::Initramfs), "update-initramfs -u -k 6.1");
}

} // namespace
} // namespace gpuhost::kmod
