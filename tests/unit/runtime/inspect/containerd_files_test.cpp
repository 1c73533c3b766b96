// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/containerd_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::runtime {
namespace {

using Texts = std::vector<std::string>;

class ContainerdFilesTest : public testing::Test {
  protected:
    [[nodiscard]] std::vector<ConfigFile> read(bool before_1_7 = false) const {
        return read_containerd_files(host_.root(), "/etc/containerd/config.toml", before_1_7);
    }
    /// Returns paths, each with a blank and its problem if it has one.
    [[nodiscard]] Texts paths(bool before_1_7 = false) const {
        Texts texts;
        for (const ConfigFile& file : read(before_1_7))
            texts.push_back(file.path + (file.problem.empty() ? "" : " " + file.problem));
        return texts;
    }
    void imports(const std::string& path, const std::string& list) const {
        host_.write(path, "version = 2\nimports = [" + list + "]\n");
    }

    tests::TempDir host_;
};

TEST_F(ContainerdFilesTest, MissingFileMeansDefaults) {
    const auto files = read();
    ASSERT_EQ(files.size(), 1U);
    EXPECT_FALSE(files[0].exists);
    EXPECT_EQ(files[0].problem, "");
}

TEST_F(ContainerdFilesTest, ImportsAreReadInOrderNestedOnesLater) {
    imports("etc/containerd/config.toml", R"("/etc/containerd/conf.d/*.toml", "b/../last.toml")");
    host_.write("etc/containerd/conf.d/b.toml", "");
    imports("etc/containerd/conf.d/a.toml", R"("deeper.conf")");
    host_.write("etc/containerd/conf.d/deeper.conf", "");
    host_.write("etc/containerd/conf.d/.hidden.toml", "");
    host_.write("etc/containerd/last.toml", "");
    EXPECT_EQ(paths(), (Texts{"/etc/containerd/config.toml", "/etc/containerd/conf.d/.hidden.toml",
                              "/etc/containerd/conf.d/a.toml", "/etc/containerd/conf.d/b.toml",
                              "/etc/containerd/last.toml", "/etc/containerd/conf.d/deeper.conf"}));
}

TEST_F(ContainerdFilesTest, PatternsMayMatchDirectories) {
    imports("etc/containerd/config.toml", R"("/etc/containerd/*.d/[0-9]*.toml", "none/*.toml")");
    host_.write("etc/containerd/z.d/1.toml", "");
    host_.write("etc/containerd/a.d/2.toml", "");
    host_.write("etc/containerd/a.d/x.toml", "");
    EXPECT_EQ(paths(), (Texts{"/etc/containerd/config.toml", "/etc/containerd/a.d/2.toml",
                              "/etc/containerd/z.d/1.toml"}));
}

TEST_F(ContainerdFilesTest, OldPatternIsRelativeToTheWorkingDirectory) {
    imports("etc/containerd/config.toml", R"("conf.d/*.toml")");
    host_.write("etc/containerd/conf.d/a.toml", "");
    host_.write("conf.d/b.toml", "");
    EXPECT_EQ(paths(), (Texts{"/etc/containerd/config.toml", "/etc/containerd/conf.d/a.toml"}));
    EXPECT_EQ(paths(true), (Texts{"/etc/containerd/config.toml", "/conf.d/b.toml"}));
}

TEST_F(ContainerdFilesTest, CircularImportsEnd) {
    imports("etc/containerd/config.toml", R"("./config.toml", "other.toml")");
    imports("etc/containerd/other.toml", R"("/etc/containerd/*.toml")");
    EXPECT_EQ(paths(), (Texts{"/etc/containerd/config.toml", "/etc/containerd/other.toml"}));
}

TEST_F(ContainerdFilesTest, TooManyFilesAreAProblem) {
    imports("etc/containerd/config.toml", R"("/many/*")");
    for (int i = 0; i < 127; ++i)
        host_.write("many/" + std::to_string(1000 + i), "");
    EXPECT_EQ(paths().size(), 128U);
    EXPECT_EQ(paths().back(), "/many/1126");
    host_.write("many/2000", "");
    EXPECT_EQ(paths().back(), "/many/2000 /many/2000: more than 128 files, the rest is not read");
    for (int i = 0; i < 1024; ++i)
        host_.write("many/" + std::to_string(3000 + i), "");
    const Matches matches = glob(host_.root(), "/many/*");
    EXPECT_TRUE(matches.is_cut);
    EXPECT_EQ(matches.paths.size(), 1024U);
    EXPECT_EQ(paths()[1], "/many/* /many/*: matches too many files, some are not read");
}

TEST_F(ContainerdFilesTest, UnreadableImportsAreProblems) {
    imports("etc/containerd/config.toml", R"("/gone.toml", "broken.toml", "pipe.toml", "large.toml")");
    host_.write("etc/containerd/broken.toml", "[plugins\n");
    host_.write("etc/containerd/large.toml", std::string((1U << 20U) + 1, '\n'));
    ASSERT_EQ(::mkfifo(host_.path("etc/containerd/pipe.toml").c_str(), 0600), 0);
    const Texts texts = paths();
    ASSERT_EQ(texts.size(), 5U);
    EXPECT_EQ(texts[1], "/gone.toml /gone.toml: No such file or directory");
    EXPECT_NE(texts[2].find("broken.toml: line 1"), std::string::npos) << texts[2];
    EXPECT_NE(texts[3].find("is a pipe"), std::string::npos) << texts[3];
    EXPECT_NE(texts[4].find("larger than"), std::string::npos) << texts[4];
}

} // namespace
} // namespace gpuhost::runtime
