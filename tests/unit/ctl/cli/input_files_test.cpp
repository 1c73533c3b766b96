// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/input_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::ctl {
namespace {

using tests::TempDir;
using Paths = std::vector<std::string>;

/// Returns one list of opened files for each import.
base::Result<std::vector<std::vector<client::InputFile>>> open(const Paths& paths) {
    GPUHOST_TRY(files, find_driver_files(paths));
    return open_driver_files(files);
}

std::string message_of(const Paths& paths) {
    const auto imports = open(paths);
    return imports ? "was accepted" : imports.error().message;
}

/// Returns the names of the files, with "|" before those of the second import.
std::vector<std::string> names_of(const Paths& paths) {
    std::vector<std::string> names;
    if (const auto imports = open(paths))
        for (const auto& files : *imports) {
            if (!names.empty())
                names.emplace_back("|");
            for (const client::InputFile& file : files)
                names.push_back(file.name);
        }
    return names;
}

TEST(InputFiles, FileNamesHaveNoDirectories) {
    const TempDir dir;
    dir.write("a.deb", "A");
    dir.write("sub/b.deb", "B");
    const auto imports = open({dir.path("a.deb"), dir.path("sub/b.deb")});
    ASSERT_TRUE(imports) << imports.error().message;
    ASSERT_EQ(imports->size(), 1U);
    const auto& files = imports->front();
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[1].name, "b.deb");
    EXPECT_EQ(base::read_all(files[1].fd.get(), 10, "b"), "B");
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

TEST(InputFiles, PackagesAreImportedBeforeModules) {
    const TempDir dir;
    dir.write("nvidia.ko", "");
    dir.write("z.deb", "");
    dir.write("a.ko.xz", "");
    EXPECT_EQ(names_of({dir.path()}), (Paths{"z.deb", "|", "a.ko.xz", "nvidia.ko"}));
    EXPECT_EQ(names_of({dir.path("nvidia.ko"), dir.path("z.deb")}), (Paths{"z.deb", "|", "nvidia.ko"}));
}

TEST(InputFiles, FilesAndDirectoriesAreTakenTogether) {
    const TempDir dir;
    for (const char* name : {"debs/a.deb", "modules/nvidia.ko", "z.deb", "source/dkms.conf"})
        dir.write(name, "");
    EXPECT_EQ(names_of({dir.path("debs"), dir.path("modules/"), dir.path("z.deb")}),
              (Paths{"a.deb", "z.deb", "|", "nvidia.ko"}));
    EXPECT_EQ(message_of({dir.path("debs"), dir.path("none")}),
              "'" + dir.path("none") + "': No such file or directory");
    EXPECT_EQ(message_of({dir.path("debs"), dir.path("source")}),
              "'" + dir.path("source") + "' has the source of a driver: it must be the only argument");
}

TEST(InputFiles, VersionsOfPackagesAreNewestFirst) {
    const TempDir dir;
    for (const char* name : {"libcuda1_535.261.03-1_amd64.deb", "libcuda1_550.163.01-1_amd64.deb",
                             "nvidia-smi_550.163.01-1_amd64.deb", "other.deb", "nvidia.ko"})
        dir.write(name, "");
    auto files = find_driver_files(Paths{dir.path()});
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(files->versions(), (Paths{"550.163.01", "535.261.03"}));
    files->keep("535.261.03");
    EXPECT_EQ(files->packages, (Paths{dir.path("libcuda1_535.261.03-1_amd64.deb"), dir.path("other.deb")}));
    EXPECT_EQ(files->modules, Paths{dir.path("nvidia.ko")});
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
}

TEST(InputFiles, TooManyFilesAreRefused) {
    const TempDir dir;
    for (std::size_t i = 0; i <= input_file_limit; ++i)
        dir.write(std::to_string(i) + ".deb", "");
    const auto imports = open({dir.path()});
    ASSERT_FALSE(imports);
    EXPECT_EQ(imports.error().message, "17 files: at most 16 can be imported at once");
    EXPECT_NE(imports.error().hint.find("separately"), std::string::npos);
}

} // namespace
} // namespace gpuhost::ctl
