// SPDX-License-Identifier: Apache-2.0
// A USB stick or a disk with read errors, at every read of an import.
#include "images/store/garbage.hpp"
#include "tests/support/read_seam.h"
#include "tests/unit/images/hostile_input.hpp"

#include <array>
#include <atomic>

#include <unistd.h>

namespace gpuhost::images {
namespace {

// State of the seam, a C function.
std::string failing;           // NOLINT: part of the paths of failing files
std::atomic<int> reads_left;   // NOLINT: successful reads of such files until they fail
std::atomic<int> reads_failed; // NOLINT

bool fails(int fd) {
    std::array<char, 512> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), path.data(), path.size() - 1) < 0 ||
        std::string_view(path.data()).find(failing) == std::string_view::npos || reads_left-- > 0)
        return false;
    ++reads_failed;
    return true;
}

class ReadErrors : public HostileInput {
  protected:
    ReadErrors() {
        bundle_.add("small");
        bundle_.add(std::string(3000, 's'));
    }
    ~ReadErrors() override { seam_read_fails = nullptr; }

    /// Makes all reads of files with `path` in their path fail, after the first `good` ones.
    static void fail(const std::string& path, int good) {
        failing = path;
        reads_left = good;
        reads_failed = 0;
        seam_read_fails = fails;
    }
    [[nodiscard]] Result<void> receive_from(int fd) {
        GPUHOST_TRY(input, BundleInput::open({{fd, "site.bundle"}}));
        GPUHOST_TRY(reader, BundleReader::open(std::move(input), trust_));
        GPUHOST_CHECK(plan_import(root_, reader.signed_manifest(), host_, {}));
        return receive_bundle(root_, reader, host_);
    }
    void expect_failed(const Result<void>& received, const std::string& what) {
        ASSERT_FALSE(received);
        EXPECT_NE(received.error().message.find(what + ": Input/output error"), std::string::npos)
            << received.error().message;
        EXPECT_FALSE(received_bundle(root_).value());
        EXPECT_FALSE(root_.exists(blobs_directory)) << "no blob has a name";
    }
    void expect_whole(const Result<void>& received) {
        seam_read_fails = nullptr;
        ASSERT_TRUE(received) << received.error().message;
        const auto marked = received_bundle(root_);
        ASSERT_TRUE(marked && *marked);
        ASSERT_TRUE(commit_bundle(root_, **marked, trust_, host_));
        for (const auto& [hex, content] : bundle_.contents)
            EXPECT_EQ(content::sha256(directory_.read("host/var/lib/gpuhost/store/sha256/" + hex)), hex);
    }
    tests::TestBundle bundle_;
};

TEST_F(ReadErrors, ReadErrorsOfAFileFailTheImport) {
    bundle_.add(std::string(std::size_t{9} << 20U, 'l')); // has its own thread
    directory_.write("stick/site.bundle", bundle_.write(site_).value());
    const UniqueFd fd(::open(directory_.path("stick/site.bundle").c_str(), O_RDONLY | O_CLOEXEC));
    for (int good = 0;; ++good) {
        fail("/stick/", good);
        const auto received = receive_from(fd.get());
        if (reads_failed == 0) {
            EXPECT_GT(good, 8) << "reads";
            return expect_whole(received); // with the leftovers of earlier runs
        }
        expect_failed(received, "site.bundle");
    }
}

TEST_F(ReadErrors, ReadErrorsOfAPipeFailTheImport) {
    const std::string bytes = bundle_.write(site_).value();
    for (int good = 0;; ++good) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        const UniqueFd out(ends[0]);
        UniqueFd in(ends[1]);
        ASSERT_LT(bytes.size(), 65536U) << "larger than a pipe's buffer";
        ASSERT_TRUE(base::write_all(in.get(), bytes, "pipe"));
        in.reset();
        fail("pipe:", good);
        const auto received = receive_from(out.get());
        if (reads_failed == 0)
            return expect_whole(received);
        expect_failed(received, "site.bundle");
    }
}

TEST_F(ReadErrors, UnreadableLeftoversAreOverwritten) {
    directory_.write("stick/site.bundle", bundle_.write(site_).value());
    const UniqueFd fd(::open(directory_.path("stick/site.bundle").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(receive_from(fd.get()));
    fail("/incoming/", 0);
    expect_whole(receive_from(fd.get()));
    EXPECT_GT(reads_failed, 0);
}

TEST_F(ReadErrors, ReadErrorsOfUnsignedImagesLeaveNothing) {
    ASSERT_TRUE(adopt_tar(tests::two_layer_archive().tar(), "before") && commit());
    directory_.write("stick/app.tar", tests::tar_of(Layout().with_image(), Packing::Gzip));
    write_directory("stick/layout", Layout().with_image());
    for (const char* input : {"stick/app.tar", "stick/layout"}) {
        const auto before = all_files();
        int good = 0;
        for (;; ++good) {
            fail("/stick/", good);
            const auto adopted = adopt(input);
            if (reads_failed == 0)
                break;
            ASSERT_FALSE(adopted) << input << " " << good;
            EXPECT_NE(adopted.error().message.find("Input/output error"), std::string::npos)
                << adopted.error().message;
            EXPECT_EQ(all_files(), before);
        }
        EXPECT_GT(good, 0) << input;
        ASSERT_TRUE(commit());
        ASSERT_TRUE(remove_bundle(root_, "airgap"));
        EXPECT_EQ(Catalogue(root_).names().value(), std::vector<std::string>{"before"});
    }
}

} // namespace
} // namespace gpuhost::images
