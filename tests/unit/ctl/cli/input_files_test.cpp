// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/input_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::ctl {
namespace {

using tests::TempDir;
using Paths = std::vector<std::string>;

std::string message_of(const Paths& paths) {
    const auto files = open_input_files(paths);
    return files ? "was accepted" : files.error().message;
}

std::vector<std::string> names_of(const Paths& paths) {
    std::vector<std::string> names;
    if (const auto files = open_input_files(paths))
        for (const client::InputFile& file : *files)
            names.push_back(file.name);
    return names;
}

TEST(InputFiles, FileNamesHaveNoDirectories) {
    const TempDir dir;
    dir.write("a.deb", "A");
    dir.write("sub/b.deb", "B");
    const auto files = open_input_files(Paths{dir.path("a.deb"), dir.path("sub/b.deb")});
    ASSERT_TRUE(files) << files.error().message;
    ASSERT_EQ(files->size(), 2U);
    EXPECT_EQ((*files)[1].name, "b.deb");
    EXPECT_EQ(base::read_all((*files)[1].fd.get(), 10, "b"), "B");
}

TEST(InputFiles, DirectoryMeansItsPackages) {
    const TempDir dir;
    dir.write("b.rpm", "");
    dir.write("a.deb", "");
    dir.write("README", "");
    EXPECT_EQ(names_of({dir.path()}), (Paths{"a.deb", "b.rpm"}));
    EXPECT_EQ(names_of({dir.path() + "/"}), (Paths{"a.deb", "b.rpm"}));
}

TEST(InputFiles, DirectoryMeansItsModules) {
    const TempDir dir;
    dir.write("nvidia.ko", "");
    dir.write("nvidia-uvm.ko", "");
    EXPECT_EQ(names_of({dir.path()}), (Paths{"nvidia-uvm.ko", "nvidia.ko"}));
}

TEST(InputFiles, CompressedModulesAreAccepted) {
    const TempDir dir;
    for (const char* name : {"nvidia.ko.gz", "nvidia-drm.ko.xz", "nvidia-uvm.ko.zst", "nvidia.ko.bz2"})
        dir.write(name, "");
    EXPECT_EQ(names_of({dir.path()}), (Paths{"nvidia-drm.ko.xz", "nvidia-uvm.ko.zst", "nvidia.ko.gz"}));
    EXPECT_EQ(names_of({dir.path("nvidia-drm.ko.xz")}), Paths{"nvidia-drm.ko.xz"});
    EXPECT_NE(message_of({dir.path("nvidia.ko.bz2")})
                  .find("is neither a package (.deb, .rpm, .run) nor a .ko file"),
              std::string::npos);
}

TEST(InputFiles, PackagesMixedWithModulesAreRefused) {
    const TempDir dir;
    dir.write("a.deb", "");
    dir.write("nvidia.ko", "");
    const std::string message = "packages and modules can't be imported together";
    const auto both = open_input_files(std::vector<std::string>{dir.path()});
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().hint, "Import the packages first: gpuhostctl driver import " + dir.path("*.deb") +
                                     ". Then import the modules: gpuhostctl driver import " +
                                     dir.path("*.ko*."));
    EXPECT_EQ(message_of({dir.path("a.deb"), dir.path("nvidia.ko")}), message);
}

TEST(InputFiles, InvalidArgumentsNameTheProblem) {
    const TempDir dir;
    dir.write("a.deb", "");
    dir.write("x/a.deb", "");
    dir.write("a.tar", "");
    dir.write("empty/README", "");
    ASSERT_EQ(::mkdir(dir.path("dir.deb").c_str(), 0700), 0);
    ASSERT_EQ(::mkfifo(dir.path("fifo.deb").c_str(), 0600), 0);
    EXPECT_EQ(message_of({dir.path("a.tar")}),
              "'" + dir.path("a.tar") + "' is neither a package (.deb, .rpm, .run) nor a .ko file");
    EXPECT_EQ(message_of({dir.path("empty")}),
              "'" + dir.path("empty") + "' has no package (.deb, .rpm, .run) and no .ko file");
    EXPECT_EQ(message_of({dir.path("none")}), "'" + dir.path("none") + "': No such file or directory");
    EXPECT_EQ(message_of({dir.path("no.deb")}), "'" + dir.path("no.deb") + "': No such file or directory");
    EXPECT_EQ(message_of({dir.path("fifo.deb")}), "'" + dir.path("fifo.deb") + "' is not a regular file");
    EXPECT_EQ(message_of({dir.path("a.deb"), dir.path("x/a.deb")}), "the file name 'a.deb' is given twice");
    EXPECT_EQ(message_of({dir.path("a.deb"), dir.path("x")}),
              "'" + dir.path("x") + "' is a directory: it must be the only argument");
}

TEST(InputFiles, TooManyFilesAreRefused) {
    const TempDir dir;
    for (std::size_t i = 0; i <= input_file_limit; ++i)
        dir.write(std::to_string(i) + ".deb", "");
    const auto files = open_input_files(Paths{dir.path()});
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().message, "17 files: at most 16 can be imported at once");
    EXPECT_NE(files.error().hint.find("separately"), std::string::npos);
}

} // namespace
} // namespace gpuhost::ctl
