// SPDX-License-Identifier: Apache-2.0
// initramfs.clear with programs of a tree, which tests/support/fake_host_programs.cpp runs.
#include "kmod/boot/initramfs.hpp"
#include "kmod/step_code.hpp"
#include "tests/support/archives.hpp"
#include "tests/support/efi_program.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;

const std::string kernel = "6.1.0-50-amd64";
const std::string debian = "/boot/initrd.img-" + kernel;
const std::string fedora = "/boot/initramfs-" + kernel + ".img";
const std::string clean = tests::cpio_of({{"init", "#!/bin/sh\n"}}, tests::Packing::Zstd);
const std::string stale =
    tests::cpio_of({{"early", "microcode"}}) +
    tests::cpio_of({{"usr/lib/modules/" + kernel + "/nvidia.ko", "535"}}, tests::Packing::Gzip);
/// A script that mkinitramfs runs. It omits the driver where packaging/initramfs/gpuhost does.
const std::string update = R"(#!/bin/sh
root=${0%/usr/sbin/update-initramfs}
echo "making $*"
[ "$GPUHOST_INITRAMFS $*" = "exclude -u -k 6.1.0-50-amd64" ] || exit 3
cp "$root/next" "$root/boot/initrd.img-6.1.0-50-amd64.new"
mv "$root/boot/initrd.img-6.1.0-50-amd64.new" "$root/boot/initrd.img-6.1.0-50-amd64"
)";
const std::string dracut = R"(#!/bin/sh
root=${0%/usr/bin/dracut}
[ "$1 $3" = "--force 6.1.0-50-amd64" ] && cp "$root/next" "$2"
)";

class InitramfsTest : public testing::Test {
  protected:
    InitramfsTest() {
        directory_.write("next", clean);
        directory_.write("boot/grub/grub.cfg", "");
    }

    void program(const std::string& path, const std::string& text) const {
        directory_.write(path, text);
        std::filesystem::permissions(directory_.path(path), std::filesystem::perms(0755));
    }
    core::StepContext context() {
        return {root_,
                settings_,
                "boot",
                "/var/lib/gpuhost/staging/1",
                {},
                [](double, std::string_view) {},
                [this](const std::string& text) { warning_ = text; }};
    }
    base::Result<Json> clear() {
        auto made = context();
        GPUHOST_TRY(output, code_.apply(made, args_));
        GPUHOST_CHECK(code_.verify(made, args_));
        return std::move(output);
    }
    std::string warning() {
        warning_.clear();
        auto made = context();
        EXPECT_TRUE(code_.preflight(made, args_).value().empty()) << "a clean image needs nothing";
        return warning_;
    }
    [[nodiscard]] std::map<std::string, std::string> unknown() const {
        return unknown_initramfs(root_, {{kernel, false}, {"6.1.0-51-amd64", false}});
    }
    void expect_failure(const base::Result<Json>& done, Errc code, const std::string& text) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, code);
        EXPECT_NE(done.error().message.find(text), std::string::npos) << done.error().message;
        EXPECT_NE(done.error().hint.find("Initramfs=ignore"), std::string::npos) << done.error().hint;
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    Json settings_;
    const Json args_{{"kernel", kernel}};
    std::string warning_;
    core::StepCode code_ = initramfs_clear_code();
};

TEST_F(InitramfsTest, CleanImageIsReadOnce) {
    EXPECT_TRUE(unknown().empty()) << "without an image";
    directory_.write(debian, clean);
    EXPECT_EQ(unknown(), (std::map<std::string, std::string>{{kernel, debian}}));
    const auto done = clear();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ((*done)["made"], false);
    EXPECT_TRUE(unknown().empty()) << "while the image is unchanged";
    directory_.write(debian, stale);
    EXPECT_FALSE(unknown().empty());
    directory_.write(std::string(initramfs_directory) + "/" + kernel, "{");
    EXPECT_FALSE(unknown().empty()) << "an unreadable record does not count";
}

TEST_F(InitramfsTest, RecordOfASingleImageStillCounts) {
    directory_.write(debian, clean);
    ASSERT_TRUE(clear());
    const std::string record = std::string(initramfs_directory) + "/" + kernel;
    directory_.write(record, Json::parse(directory_.read(record)).at(0).dump()); // the format of 0.1.0
    EXPECT_TRUE(unknown().empty());
}

TEST_F(InitramfsTest, EachImageOfAKernelIsCleared) {
    directory_.write("etc/machine-id", "5f3c\n");
    program("usr/bin/dracut", dracut);
    const std::string entry = "/efi/5f3c/" + kernel + "/initrd";
    for (const std::string& image : {fedora, entry})
        directory_.write(image, stale);
    const auto done = clear();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(directory_.read(fedora), clean);
    EXPECT_EQ(directory_.read(entry), clean);
    EXPECT_EQ(root_.list("/efi/5f3c/" + kernel)->size(), 1U) << "no other file is left";
    EXPECT_TRUE(unknown().empty()) << "both are recorded";
    directory_.write(entry, stale);
    EXPECT_EQ(unknown(), (std::map<std::string, std::string>{{kernel, entry}}));
    directory_.write(entry + ".gpuhost", "half");
    auto made = context();
    ASSERT_TRUE(code_.undo(made, args_));
    EXPECT_EQ(root_.list("/efi/5f3c/" + kernel)->size(), 1U) << "only the old image";
}

TEST_F(InitramfsTest, CopyForTheBootLoaderIsRebuiltToo) {
    const std::string copy = "/boot/efi/debian/" + kernel + "/initrd.img-" + kernel;
    directory_.write("usr/lib/os-release", "NAME=\"Debian\"\nID=debian\n");
    directory_.write(debian, stale);
    directory_.write(copy, stale);
    program("usr/sbin/update-initramfs", update + "cp \"$root/next\" \"$root" + copy + "\"\n");
    const auto done = clear();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(directory_.read(copy), clean);
    EXPECT_TRUE(unknown().empty());
    directory_.write(copy, stale);
    EXPECT_EQ(unknown(), (std::map<std::string, std::string>{{kernel, copy}}));
    const auto again = clear();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(directory_.read(copy), clean) << "although its source was clean";
}

TEST_F(InitramfsTest, UnifiedImageIsReadButNotRebuilt) {
    const std::string unified = "/efi/EFI/Linux/5f3c-" + kernel + "+3.efi";
    directory_.write(unified, tests::efi_program({{".uname", kernel}, {".initrd", clean}}));
    program("usr/bin/dracut", dracut);
    EXPECT_NE(warning().find("it is a unified kernel image; this step fails if"), std::string::npos)
        << warning_;
    const auto done = clear();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(unknown().empty());
    EXPECT_EQ(warning(), "") << "a record says that it is clean";

    const std::string held = tests::efi_program({{".uname", kernel}, {".initrd", stale}});
    directory_.write(unified, held);
    EXPECT_EQ(unknown(), (std::map<std::string, std::string>{{kernel, unified}}));
    expect_failure(clear(), Errc::Unsupported, "nvidia.ko");
    EXPECT_NE(clear().error().hint.find("GPUHOST_INITRAMFS=exclude kernel-install add " + kernel +
                                        " /lib/modules/"),
              std::string::npos);
    EXPECT_EQ(directory_.read(unified), held);
    directory_.write(unified, tests::efi_program({{".uname", "6.1.0-51-amd64"}, {".initrd", stale}}));
    EXPECT_TRUE(clear()) << "the image of another kernel";
    directory_.write(unified, "MZ");
    expect_failure(clear(), Errc::BadContent, "cannot list the modules in an initramfs");
}

TEST_F(InitramfsTest, ImageWithADriverIsRebuilt) {
    directory_.write(debian, stale);
    program("usr/sbin/update-initramfs", update);
    EXPECT_EQ(warning(), "");
    const auto done = clear();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ((*done)["made"], true);
    EXPECT_EQ(directory_.read(debian), clean);
    EXPECT_TRUE(unknown().empty());
    EXPECT_EQ(directory_.read((*done)["log"].get<std::string>()), "making -u -k " + kernel + "\n");
    const auto again = clear();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ((*again)["made"], false);
}

TEST_F(InitramfsTest, DracutWritesATemporaryFile) {
    program("usr/bin/dracut", dracut);
    for (const std::string& image : {fedora, debian}) {
        directory_.write(image, stale);
        EXPECT_EQ(warning(), "");
        const auto done = clear();
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(directory_.read(image), clean);
    }
    EXPECT_EQ(root_.list("/boot")->size(), 3U) << "no other file is left";
}

TEST_F(InitramfsTest, RebuiltImageWithADriverIsDiscarded) {
    directory_.write("next", stale + std::string(4, '\0'));
    directory_.write(fedora, stale);
    program("usr/bin/dracut", dracut);
    expect_failure(clear(), Errc::Failed, "still includes 'usr/lib/modules/6.1.0-50-amd64/nvidia.ko'");
    EXPECT_EQ(directory_.read(fedora), stale);
    EXPECT_FALSE(unknown().empty());
    auto made = context();
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(code_.undo(made, args_));
    EXPECT_EQ(root_.list("/boot")->size(), 2U) << "only the old image";
}

TEST_F(InitramfsTest, FailureReportsTheProgramsLastLine) {
    directory_.write(debian, stale);
    EXPECT_NE(warning().find("neither update-initramfs nor dracut"), std::string::npos);
    expect_failure(clear(), Errc::Unsupported, "neither update-initramfs nor dracut");
    program("usr/sbin/update-initramfs", "#!/bin/sh\necho first\necho no space left >&2\nexit 1\n");
    expect_failure(clear(), Errc::Failed, "failed: no space left");
    directory_.write(debian, "\x89LZO");
    expect_failure(clear(), Errc::Unsupported, "cannot list the modules in an initramfs");
    EXPECT_FALSE(unknown().empty());
}

TEST_F(InitramfsTest, UnfinishedRebuildIsRepeated) {
    directory_.write(debian, stale);
    program("usr/sbin/update-initramfs",
            std::string(update) + "exit 1\n"); // its image is written, but boot loaders are not updated
    EXPECT_FALSE(clear());
    ASSERT_EQ(directory_.read(debian), clean);
    program("usr/sbin/update-initramfs", update);
    const auto done = clear();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ((*done)["made"], true);
    const auto again = clear();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ((*again)["made"], false);
}

TEST_F(InitramfsTest, UndoRemovesUnfinishedImages) {
    directory_.write(debian, stale);
    for (const char* ending : {".new", ".gpuhost"})
        directory_.write(debian + ending, "half");
    auto made = context();
    ASSERT_TRUE(code_.undo(made, args_));
    EXPECT_EQ(root_.list("/boot")->size(), 2U) << "grub's directory and the image";
    EXPECT_EQ(directory_.read(debian), stale);
}

TEST_F(InitramfsTest, MissingImageNeedsNothing) {
    EXPECT_EQ(warning(), "");
    EXPECT_TRUE(clear());
    auto made = context();
    EXPECT_FALSE(code_.apply(made, {{"kernel", "../etc"}})) << "not a kernel release";
}

} // namespace
} // namespace gpuhost::kmod
