// SPDX-License-Identifier: Apache-2.0
#include "images/import/blob_stream.hpp"
#include "images/import/import.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/bundles.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Result;
using base::UniqueFd;

class BlobStreams : public ::testing::Test {
  protected:
    BlobStreams() {
        EXPECT_TRUE(trust_.add(site_.certificate, "site"));
        for (const std::string& content : {std::string("small"), std::string(3'000'000, 'x'), std::string()})
            hexes_.push_back(bundle_.add(content));
        const std::string bytes = bundle_.write(site_).value();
        beginning_ = bytes.substr(0, tar_block + manifest_size(bytes.substr(0, tar_block)).value());
    }

    /// Runs the worker that receives a stream, and commits to the catalogue on success.
    Result<void> receive(const std::string& blobs) {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        const UniqueFd in(ends[0]);
        std::thread writer([out = ends[1], bytes = beginning_ + blobs] {
            const UniqueFd owned(out);
            (void)base::write_all(out, bytes, "the stream"); // the reader may stop early
        });
        auto received = read(in.get());
        std::string rest(1U << 20U, '\0');
        while (::read(in.get(), rest.data(), rest.size()) > 0)
            ;
        writer.join();
        return received;
    }
    Result<void> read(int in) {
        GPUHOST_TRY(input, BundleInput::open({{in, "peers"}}));
        GPUHOST_TRY(bundle, read_signed_manifest(input, trust_));
        GPUHOST_CHECK(plan_import(root_, bundle, host_, {false, true}));
        GPUHOST_CHECK(receive_stream(root_, bundle, input, host_));
        GPUHOST_TRY(received, received_bundle(root_));
        GPUHOST_CHECK(commit_bundle(root_, received.value(), trust_, host_));
        return finalize_import(root_, received->digest);
    }
    [[nodiscard]] std::string blob(std::size_t i, std::uint64_t first = 0) const {
        return blob_frame(hexes_[i], first) + bundle_.contents.at(hexes_[i]).substr(first);
    }
    [[nodiscard]] std::string all() const { return blob(0) + blob(1) + blob(2) + last_blob_frame(); }
    /// Writes a partial blob, as an interrupted stream leaves it.
    void leave(std::size_t i, const std::string& bytes) {
        const auto digest = identity(bundle_.manifest);
        directory_.write(received_path(digest, hexes_[i]).substr(1), bytes);
    }
    [[nodiscard]] bool is_here() const {
        return Catalogue(root_).record("site-images").has_value() &&
               missing_members(root_, bundle_.manifest, host_).empty();
    }
    void expect_refused(const std::string& blobs, std::string_view why) {
        const auto received = receive(blobs);
        ASSERT_FALSE(received) << why;
        EXPECT_EQ(received.error().code, Errc::BadContent) << received.error().message;
        EXPECT_NE(received.error().message.find(why), std::string::npos) << received.error().message;
        EXPECT_FALSE(Catalogue(root_).record("site-images").has_value());
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    tests::Identity site_ = tests::make_identity({});
    content::TrustAnchors trust_;
    HostFacts host_{"linux/amd64", {}};
    tests::TestBundle bundle_;
    std::vector<std::string> hexes_;
    std::string beginning_;
};

TEST_F(BlobStreams, StreamImportsABundle) {
    const auto received = receive(all());
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_TRUE(is_here());
}

TEST_F(BlobStreams, BlobsMayHaveAnyOrder) {
    ASSERT_TRUE(receive(blob(2) + blob(1) + blob(0) + last_blob_frame()));
    EXPECT_TRUE(is_here());
}

TEST_F(BlobStreams, OnlyMissingBlobsAreSent) {
    ASSERT_TRUE(receive(all()));
    ASSERT_TRUE(BlobStore(root_).remove(hexes_[1]));
    ASSERT_FALSE(is_here());
    ASSERT_TRUE(receive(blob(1) + last_blob_frame()));
    EXPECT_TRUE(is_here());
}

TEST_F(BlobStreams, WrongBlobsMayBeSentAgain) {
    std::string wrong = blob(1);
    wrong.back() = 'y';
    const auto received = receive(wrong + blob(0) + wrong + blob(1) + blob(2) + last_blob_frame());
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_TRUE(is_here());
}

TEST_F(BlobStreams, PartialBlobsAreContinued) {
    leave(0, "small");
    leave(1, std::string(1'000'000, 'x'));
    const auto received = receive(blob(0, 5) + blob(1, 999'000) + blob(2) + last_blob_frame());
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_TRUE(is_here());
}

TEST_F(BlobStreams, DamagedPartIsFound) {
    leave(1, std::string(1'000'000, 'z'));
    const std::string damaged = blob(1, 1'000'000);
    expect_refused(damaged + blob(0) + blob(2) + last_blob_frame(), "1 blobs are missing");
    ASSERT_TRUE(receive(all()));
    EXPECT_TRUE(is_here());
}

TEST_F(BlobStreams, UselessPartsAreReplaced) {
    leave(0, "wrong");
    leave(1, std::string(1'000'000, 'z'));
    const auto received = receive(all());
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_TRUE(is_here());
}

TEST_F(BlobStreams, GapAfterAPartIsRefused) {
    leave(1, std::string(1'000, 'x'));
    const auto received = receive(blob(1, 2'000) + last_blob_frame());
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code, Errc::Interrupted);
}

TEST_F(BlobStreams, StreamsWithForeignBlobsAreRefused) {
    const std::string stranger = content::sha256("stranger");
    expect_refused(blob_frame(stranger, 0) + "stranger" + all(), "this host has it, or does not need it");
    expect_refused(blob(0) + all(), "this host has it, or does not need it");
    expect_refused(blob_frame(hexes_[0], 6) + all(), "begins after its end");
    expect_refused("../../etc/passwd" + all(), "invalid blob frame");
    expect_refused(blob_frame(std::string(64, 'A'), 0) + all(), "this host has it, or does not need it");
    expect_refused(blob(0) + std::string(200, ' '), "invalid blob frame");
    expect_refused(all() + "x", "data after its end");
    expect_refused(all().substr(0, 1'000'000), "before the end of the bundle");
    expect_refused(blob(0) + blob(2) + last_blob_frame(), "1 blobs are missing: sha256:" + hexes_[1]);
    expect_refused("", "before the end of the bundle");
}

} // namespace
} // namespace gpuhost::images
