// SPDX-License-Identifier: Apache-2.0
#include "daemon/exporter/textfile.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::exporter {
namespace {

TEST(Textfile, FileIsReplacedAndReadableByAll) {
    const tests::TempDir directory;
    directory.write("a.prom", "old");
    ASSERT_TRUE(write_textfile(directory.path("a.prom"), "new"));
    EXPECT_EQ(directory.read("a.prom"), "new");
    EXPECT_EQ(directory.root().stat("/a.prom")->st_mode & 07777, 0644U);
    EXPECT_EQ(directory.root().list("/"), (std::vector<std::string>{"a.prom"}))
        << "no temporary file is left";
}

TEST(Textfile, MissingDirectoryIsAnError) {
    const tests::TempDir directory;
    const auto written = write_textfile(directory.path("none/a.prom"), "new");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, base::Errc::NotFound);
    EXPECT_NE(written.error().message.find("none/': No such file or directory"), std::string::npos)
        << written.error().message;
}

TEST(Textfile, LinksAreNotFollowed) {
    const tests::TempDir directory;
    directory.write("real/other", "kept");
    directory.write("real/below/other", "kept");
    ASSERT_EQ(::symlink("real", directory.path("link").c_str()), 0);
    ASSERT_EQ(::symlink("other", directory.path("real/a.prom").c_str()), 0);
    for (const char* path : {"link/b.prom", "link/below/b.prom", "real/a.prom"})
        EXPECT_FALSE(write_textfile(directory.path(path), "new")) << path;
    EXPECT_EQ(directory.read("real/other"), "kept");
    EXPECT_EQ(directory.root().list("/real"), (std::vector<std::string>{"a.prom", "below", "other"}));
}

TEST(Textfile, OnlyRegularFilesAreReplaced) {
    const tests::TempDir directory;
    directory.write("directory/x", "");
    ASSERT_EQ(::mkfifo(directory.path("pipe").c_str(), 0600), 0);
    for (const std::string& path :
         {directory.path("directory"), directory.path("pipe"), directory.path(""), std::string()}) {
        const auto written = write_textfile(path, "new");
        ASSERT_FALSE(written) << path;
        EXPECT_EQ(written.error().message, "'" + path + "' is not a regular file");
    }
}

} // namespace
} // namespace gpuhost::exporter
