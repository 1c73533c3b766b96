// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/content/package/package.hpp"
#include "daemon/ctl/cli/source_directory.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

class SourceDirectoryTest : public testing::Test {
  protected:
    SourceDirectoryTest() {
        directory_.write("s/dkms.conf", "PACKAGE_NAME=\"nvidia\"\nPACKAGE_VERSION=\"550.163.01\"\n");
        directory_.write("s/Makefile", "modules:\n");
        directory_.write("s/nvidia/nv.c", "MODULE_LICENSE(\"Dual MIT/GPL\");\n");
        directory_.write("s/conftest.sh", "#!/bin/sh\n");
        EXPECT_EQ(::chmod(path("/conftest.sh").c_str(), 0755), 0);
    }
    [[nodiscard]] std::string path(const std::string& inside = {}) const {
        return directory_.path("s") + inside;
    }
    [[nodiscard]] std::string packed_as() const {
        const auto packed = pack_source_directory(path());
        return packed ? packed->name : "error: " + packed.error().message;
    }
    [[nodiscard]] std::string digest() const {
        const auto packed = pack_source_directory(path());
        return packed ? content::sha256_of_file(packed->fd.get(), "x")->sha256 : packed.error().message;
    }
    tests::TempDir directory_;
};

TEST_F(SourceDirectoryTest, PackedDirectoryIsAPackage) {
    EXPECT_TRUE(is_source_directory(path()));
    const auto packed = pack_source_directory(path() + "/");
    ASSERT_TRUE(packed) << packed.error().message;
    EXPECT_EQ(packed->name, "nvidia-open-550.163.01.tar.zst");
    auto package = content::Package::open(packed->fd.get(), packed->name);
    ASSERT_TRUE(package) << package.error().message;
    EXPECT_EQ(package->info().form, content::PackageForm::Tar);
    EXPECT_EQ(package->info().package, "nvidia-open");
    EXPECT_EQ(package->info().upstream, "550.163.01");
    std::vector<std::string> files;
    for (;;) {
        const auto entry = package->next();
        ASSERT_TRUE(entry) << entry.error().message;
        if (!*entry)
            break;
        files.push_back((*entry)->path + ((*entry)->mode == 0755 ? "*" : ""));
    }
    const std::string top = "usr/src/nvidia-open-550.163.01/";
    EXPECT_EQ(files, (std::vector<std::string>{top + "Makefile", top + "conftest.sh*", top + "dkms.conf",
                                               top + "nvidia/nv.c"}));
}

TEST_F(SourceDirectoryTest, SameFilesGiveTheSameTar) {
    const std::string before = digest();
    const struct timespec old[2]{{1, 0}, {1, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path("/Makefile").c_str(), old, 0), 0);
    ASSERT_EQ(::chmod(path("/Makefile").c_str(), 0600), 0);
    EXPECT_EQ(digest(), before);
    directory_.write("s/Makefile", "modules: all\n");
    EXPECT_NE(digest(), before);
}

TEST_F(SourceDirectoryTest, VersionIsReadFromTheSource) {
    directory_.write("s/nvidia/nv.c", "MODULE_LICENSE(\"NVIDIA\");\n");
    EXPECT_EQ(packed_as(), "nvidia-550.163.01.tar.zst");
    ASSERT_EQ(::unlink(path("/dkms.conf").c_str()), 0);
    EXPECT_FALSE(is_source_directory(path()));
    EXPECT_NE(packed_as().find("version of the driver's source not found"), std::string::npos);
    directory_.write("s/Kbuild", "ccflags-y += -DNV_VERSION_STRING=\\\"570.86.10\\\"\n");
    EXPECT_TRUE(is_source_directory(path()));
    EXPECT_EQ(packed_as(), "nvidia-570.86.10.tar.zst");
    directory_.write("s/version.mk", "NVIDIA_VERSION = 580.65.06\n");
    EXPECT_EQ(packed_as(), "nvidia-580.65.06.tar.zst");
    directory_.write("s/dkms.conf", "PACKAGE_VERSION=\"../evil\"\n");
    EXPECT_EQ(packed_as(), "nvidia-580.65.06.tar.zst");
}

TEST_F(SourceDirectoryTest, RefusesBuiltFilesAndLinksOutside) {
    directory_.write("s/nvidia/nv.o", "built");
    EXPECT_EQ(packed_as(), "error: '" + path("/nvidia/nv.o") + "' is the result of a build");
    ASSERT_EQ(::unlink(path("/nvidia/nv.o").c_str()), 0);
    ASSERT_EQ(::symlink("../../../etc/passwd", path("/nvidia/evil").c_str()), 0);
    EXPECT_NE(packed_as().find("leads out of the source"), std::string::npos);
    ASSERT_EQ(::unlink(path("/nvidia/evil").c_str()), 0);
    ASSERT_EQ(::symlink("nv.c", path("/nvidia/link").c_str()), 0);
    EXPECT_EQ(packed_as(), "nvidia-open-550.163.01.tar.zst");
    ASSERT_EQ(::mkfifo(path("/pipe").c_str(), 0600), 0);
    EXPECT_EQ(packed_as(), "error: '" + path("/pipe") + "' is not a file, directory or link");
}

} // namespace
} // namespace gpuhost::ctl
