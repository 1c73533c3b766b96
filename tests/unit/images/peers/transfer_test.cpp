// SPDX-License-Identifier: Apache-2.0
#include "images/import/blob_stream.hpp"
#include "images/peers/transfer.hpp"
#include "tests/support/fake_peer_client.hpp"
#include "tests/support/tmpdir.hpp"

#include <csignal>
#include <map>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Result;
using base::UniqueFd;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t part = FetchLimits().part;

/// Peers "one" and "two", a clock that advances during waits, and an import that reads the stream.
class TransferTest : public ::testing::Test {
  protected:
    TransferTest() {
        (void)std::signal(SIGPIPE, SIG_IGN); // as gpuhost-fetch does
        int ends[2] = {-1, -1};
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        in_.reset(ends[0]);
        out_.reset(ends[1]);
        tests::network.answer = [this](const PeerRequest& request) { return answer(request); };
        tests::network.wait = [this](milliseconds most, int) {
            now_ += most;
            if (now_ >= reads_from_)
                read();
        };
    }
    ~TransferTest() override { tests::network = {}; }

    std::string add(std::string bytes) {
        std::string hex = content::sha256(bytes);
        wanted_.push_back({hex, bytes.size(), 0, content::Sha256()});
        contents_[hex] = std::move(bytes);
        return hex;
    }
    Result<void> run() {
        Peers peers(root_, client_, {"one", "two"}, [](const std::string&) {});
        BlobFetch fetch(std::move(wanted_), peers.names(), {}, [](const std::string&) {});
        const auto done =
            Transfer(peers, client_, std::move(fetch), "beginning", [this] { return now_; }).run(out_.get());
        out_.reset();
        read();
        return done;
    }
    void read() {
        std::string some(1U << 20U, '\0');
        for (ssize_t n = 0; (n = ::read(in_.get(), some.data(), some.size())) > 0;)
            stream_.append(some, 0, static_cast<std::size_t>(n));
    }
    std::optional<PeerAnswer> answer(const PeerRequest& request) {
        if (now_ < next_)
            return std::nullopt;
        next_ = now_ + pause_;
        const std::string hex = request.url.substr(request.url.rfind('/') + 1);
        if (lacking_ == hex)
            return PeerAnswer{0, 404, {}, "answered 404"};
        return PeerAnswer{0, 206, contents_.at(hex).substr(request.first, request.length), {}};
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    PeerClient client_ = PeerClient::make({}, {}).value();
    std::vector<BlobFetch::Wanted> wanted_;
    std::map<std::string, std::string> contents_;
    std::string lacking_;   ///< a blob that no peer has
    milliseconds pause_{0}; ///< between two answers of any peer
    milliseconds next_{0};
    milliseconds reads_from_{0};
    milliseconds now_{0};
    UniqueFd in_, out_;
    std::string stream_;
};

TEST_F(TransferTest, WritesBeginningAndStreamOfBlobs) {
    std::string expected = "beginning";
    for (const std::size_t size : {std::size_t{3}, std::size_t{2} * part + 1, std::size_t{0}}) {
        const std::string bytes(size, 'x');
        expected += blob_frame(add(bytes), 0) + bytes;
    }
    const auto done = run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(stream_ == expected + last_blob_frame());
}

TEST_F(TransferTest, TooSlowPeersEndTheTransfer) {
    add(std::string(8 * part, 'x'));
    pause_ = seconds(110); // some bytes in each period
    const auto done = run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::Timeout) << done.error().message;
    EXPECT_LE(now_, 3 * RateWatchdog::period);
}

TEST_F(TransferTest, FastEnoughPeersCompleteTheTransfer) {
    add(std::string(8 * part, 'x'));
    pause_ = seconds(55);
    const auto done = run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_GT(now_, 2 * RateWatchdog::period);
}

TEST_F(TransferTest, SlowImportIsNotATimeout) {
    const std::string bytes(8 * part, 'x');
    const std::string hex = add(bytes);
    reads_from_ = hours(1);
    const auto done = run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_GT(now_, hours(1));
    EXPECT_TRUE(stream_ == "beginning" + blob_frame(hex, 0) + bytes + last_blob_frame());
}

TEST_F(TransferTest, ClosedReaderEndsTheTransfer) {
    add(std::string(8 * part, 'x'));
    in_.reset();
    EXPECT_TRUE(run());
}

TEST_F(TransferTest, MissingBlobIsNamed) {
    add("here");
    lacking_ = add("nowhere");
    const auto done = run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::NotFound) << done.error().message;
    EXPECT_NE(done.error().message.find(lacking_), std::string::npos) << done.error().message;
}

TEST(RateWatchdogTest, TooFewBytesPerPeriodAreTooSlow) {
    RateWatchdog watchdog(milliseconds(0));
    watchdog.received(RateWatchdog::least - 1);
    EXPECT_FALSE(watchdog.is_too_slow(RateWatchdog::period - milliseconds(1), true));
    EXPECT_TRUE(watchdog.is_too_slow(RateWatchdog::period, true));
    watchdog.received(RateWatchdog::least);
    EXPECT_FALSE(watchdog.is_too_slow(2 * RateWatchdog::period, true));
    EXPECT_TRUE(watchdog.is_too_slow(3 * RateWatchdog::period, true)) << "each period needs its own bytes";
}

TEST(RateWatchdogTest, TimeWithoutWaitingIsNotCounted) {
    RateWatchdog watchdog(milliseconds(0));
    watchdog.received(RateWatchdog::least - 1);
    EXPECT_FALSE(watchdog.is_too_slow(RateWatchdog::period / 2, true));
    EXPECT_FALSE(watchdog.is_too_slow(10 * RateWatchdog::period, false));
    EXPECT_FALSE(
        watchdog.is_too_slow(10 * RateWatchdog::period + RateWatchdog::period / 2 - milliseconds(1), true));
    EXPECT_TRUE(watchdog.is_too_slow(10 * RateWatchdog::period + RateWatchdog::period / 2, true));
}

} // namespace
} // namespace gpuhost::images
