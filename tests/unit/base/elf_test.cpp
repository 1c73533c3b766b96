// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/elf.hpp"
#include "daemon/base/mapped_file.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

TEST(ElfTest, ReadsTheSoname) {
    const std::string image = tests::library_image("libcuda.so.1");
    const auto elf = Elf::parse(image, "x");
    ASSERT_TRUE(elf);
    EXPECT_EQ(elf->soname(), "libcuda.so.1");
    const std::string module = tests::nvidia_module("nvidia", "550.163.01", "6.1");
    EXPECT_EQ(Elf::parse(module, "x")->soname(), std::nullopt);
}

TEST(MappedFileTest, MapsFilesAndEmptyFiles) {
    const tests::TempDir directory;
    directory.write("file", "content");
    directory.write("empty", "");
    const Root root = directory.root();
    const auto file = root.open_file("/file", O_RDONLY);
    const auto empty = root.open_file("/empty", O_RDONLY);
    EXPECT_EQ(MappedFile::open(file->get(), "file")->view(), "content");
    EXPECT_EQ(MappedFile::open(empty->get(), "empty")->view(), "");
    EXPECT_FALSE(MappedFile::open(root.open_file("/", O_RDONLY | O_DIRECTORY)->get(), "directory"));
}

} // namespace
} // namespace gpuhost::base
