// SPDX-License-Identifier: Apache-2.0
#include "images/import/blob_stream.hpp"
#include "images/peers/blob_fetch.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Result;
using Time = BlobFetch::Time;

constexpr FetchLimits limits{.part = 100, .window = 800, .parts = 16, .per_peer = 2, .patience = 3};
constexpr std::size_t frame_bytes = 82;
constexpr Time tick{100};
constexpr Time an_hour{3'600'000};

std::string content(std::size_t size, char seed) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>(seed + i / 7);
    return bytes;
}

struct Behaviour {
    bool fails = false;
    bool lies = false;
    bool ducks = false;             ///< sends wrong bytes first, and fails if it must send the blob alone
    std::size_t serves = 1'000'000; ///< number of parts until it fails
    std::set<std::string> lacks;
    Time takes{0}; ///< time of an answer
};

/// Peers, their blobs, and the receiver of the stream.
class BlobFetchTest : public ::testing::Test {
  protected:
    std::string add(std::string bytes) {
        std::string hex = content::sha256(bytes);
        order_.push_back(hex);
        contents_[hex] = std::move(bytes);
        return hex;
    }
    /// `there`: parts of blobs that an earlier fetch left.
    void start(const std::map<std::string, std::string>& there = {}) {
        std::vector<BlobFetch::Wanted> wanted;
        for (const std::string& hex : order_) {
            BlobFetch::Wanted blob{hex, contents_[hex].size(), 0, content::Sha256()};
            if (const auto left = there.find(hex); left != there.end()) {
                blob.first = left->second.size();
                blob.before.update(left->second);
            }
            wanted.push_back(std::move(blob));
        }
        std::vector<std::string> names;
        for (std::size_t i = 0; i < peers_.size(); ++i)
            names.push_back("peer" + std::to_string(i));
        asked_of_.resize(peers_.size());
        fetch_.emplace(std::move(wanted), std::move(names), limits_,
                       [this](const std::string& text) { notes_ += text + "\n"; });
    }
    Result<void> run() {
        while (!fetch_->ended()) {
            GPUHOST_CHECK(fetch_->check());
            if (now_ > an_hour)
                return base::fail(Errc::Timeout, "it does not end");
            while (const auto part = fetch_->next(now_))
                ask(*part);
            answer();
            for (std::string some = fetch_->take(); !some.empty(); some = fetch_->take())
                stream_ += some;
            now_ += tick;
        }
        return {};
    }
    /// Returns the last content of each blob including its earlier part, in the stream's order.
    std::vector<std::pair<std::string, std::string>>
    received(const std::map<std::string, std::string>& there = {}) {
        std::vector<std::pair<std::string, std::string>> blobs;
        std::string_view left = stream_;
        for (;;) {
            const std::string hex(left.substr(0, 64));
            const auto first = std::stoull(std::string(left.substr(65, 16)), nullptr, 16);
            left.remove_prefix(frame_bytes);
            if (hex == std::string(64, '0')) {
                EXPECT_TRUE(left.empty());
                return blobs;
            }
            const std::size_t size = contents_.at(hex).size() - first;
            std::string bytes = first == 0 ? "" : there.at(hex).substr(0, first);
            bytes += left.substr(0, size);
            left.remove_prefix(size);
            std::erase_if(blobs, [&](const auto& blob) { return blob.first == hex; });
            blobs.emplace_back(hex, std::move(bytes));
        }
    }
    bool is_whole(const std::map<std::string, std::string>& there = {}) {
        const auto blobs = received(there);
        return blobs.size() == order_.size() &&
               std::all_of(blobs.begin(), blobs.end(),
                           [&](const auto& blob) { return contents_.at(blob.first) == blob.second; });
    }
    [[nodiscard]] bool noted(const std::string& text) const { return notes_.find(text) != std::string::npos; }

    void ask(const BlobFetch::Part& part) {
        ++asked_of_[part.peer];
        on_their_way_ += part.length;
        most_on_their_way_ = std::max(most_on_their_way_, on_their_way_);
        pending_.emplace_back(now_ + peers_[part.peer].takes, part);
    }
    void answer() {
        auto pending = std::move(pending_);
        pending_.clear();
        for (const auto& [when, part] : pending) {
            if (when > now_) {
                pending_.emplace_back(when, part);
                continue;
            }
            on_their_way_ -= part.length;
            Behaviour& peer = peers_[part.peer];
            if (peer.lacks.count(part.hex) > 0) {
                fetch_->lacks(part);
            } else if (peer.fails || peer.serves == 0 ||
                       (peer.ducks && part.first > 0 && noted("fetching it again"))) {
                fetch_->failed(part, "connection refused", now_);
            } else {
                --peer.serves;
                std::string bytes = contents_.at(part.hex).substr(part.first, part.length);
                if (peer.lies || (peer.ducks && part.first == 0))
                    bytes.front() = static_cast<char>(bytes.front() ^ 1);
                fetch_->came(part, std::move(bytes));
            }
        }
    }

    /// Requests a part of the only peer, which fails. Expects a delay of this length.
    void fail_and_rest(Time rest) {
        const auto part = fetch_->next(now_);
        ASSERT_TRUE(part);
        fetch_->failed(*part, "timeout", now_);
        EXPECT_FALSE(fetch_->next(now_ + rest - Time(1)));
        now_ += rest;
    }

    FetchLimits limits_ = limits;
    std::vector<Behaviour> peers_;
    std::vector<std::string> order_;
    std::map<std::string, std::string> contents_;
    std::optional<BlobFetch> fetch_;
    std::string stream_, notes_;
    std::vector<std::size_t> asked_of_;
    std::vector<std::pair<Time, BlobFetch::Part>> pending_;
    std::uint64_t on_their_way_ = 0, most_on_their_way_ = 0;
    Time now_{0};
};

TEST_F(BlobFetchTest, FetchesAllBlobsInOrderFromAllPeers) {
    for (const std::size_t size : {0U, 1U, 99U, 100U, 101U, 5000U, 3U})
        add(content(size, 'a'));
    peers_.resize(3);
    start();
    ASSERT_TRUE(run());
    EXPECT_TRUE(is_whole());
    const auto blobs = received();
    for (std::size_t i = 0; i < blobs.size(); ++i)
        EXPECT_EQ(blobs[i].first, order_[i]);
    for (const std::size_t parts : asked_of_)
        EXPECT_GT(parts, 10U);
    EXPECT_LE(most_on_their_way_, limits.window + limits.part);
    EXPECT_EQ(notes_, "");
}

TEST_F(BlobFetchTest, WithoutBlobsItEnds) {
    peers_.resize(1);
    start();
    ASSERT_TRUE(run());
    EXPECT_EQ(stream_, last_blob_frame());
}

TEST_F(BlobFetchTest, FailedPartsAreFetchedFromAnotherPeer) {
    add(content(5000, 'a'));
    peers_.resize(3);
    peers_[0].serves = 4;
    peers_[1].fails = true;
    start();
    ASSERT_TRUE(run());
    EXPECT_TRUE(is_whole());
    EXPECT_TRUE(noted("peer1: connection refused; continuing with other peers"));
    EXPECT_FALSE(noted("peer2"));
}

TEST_F(BlobFetchTest, FailedPeerIsUsedAgainAfterADelay) {
    add(content(5000, 'a'));
    peers_.resize(1);
    peers_[0].fails = true;
    start();
    const auto part = fetch_->next(now_);
    ASSERT_TRUE(part);
    fetch_->failed(*part, "timeout", now_);
    EXPECT_FALSE(fetch_->next(now_)) << "the peer is delayed";
    EXPECT_FALSE(fetch_->next(limits.rest - tick));
    EXPECT_TRUE(fetch_->check());
    peers_[0].fails = false;
    now_ = limits.rest;
    ASSERT_TRUE(run());
    EXPECT_TRUE(is_whole());
}

TEST_F(BlobFetchTest, DelayGrowsUntilThePeerIsDropped) {
    limits_.patience = 5;
    limits_.longest_rest = 3 * limits_.rest;
    add(content(5000, 'a'));
    peers_.resize(1);
    start();
    for (const int rests : {1, 2, 3, 3}) {
        ASSERT_NO_FATAL_FAILURE(fail_and_rest(rests * limits_.rest));
        EXPECT_TRUE(fetch_->check());
    }
    ASSERT_NO_FATAL_FAILURE(fail_and_rest(an_hour));
    EXPECT_FALSE(fetch_->check());
    EXPECT_TRUE(noted("peer0: timeout; no more requests to this peer"));
}

TEST_F(BlobFetchTest, SuccessBetweenFailuresKeepsThePeer) {
    add(content(5000, 'a'));
    peers_.resize(1);
    start();
    for (int i = 0; i < 5; ++i) {
        for (std::size_t failures = 1; failures < limits_.patience; ++failures)
            ASSERT_NO_FATAL_FAILURE(fail_and_rest(failures * limits_.rest));
        const auto part = fetch_->next(now_);
        ASSERT_TRUE(part);
        fetch_->came(*part, contents_[part->hex].substr(part->first, part->length));
    }
    EXPECT_TRUE(fetch_->check());
}

TEST_F(BlobFetchTest, SimultaneousFailuresOfAPeerCountOnce) {
    limits_.patience = 2;
    add(content(5000, 'a'));
    peers_.resize(1);
    start();
    const auto one = fetch_->next(now_);
    const auto two = fetch_->next(now_);
    ASSERT_TRUE(one && two);
    fetch_->failed(*one, "timeout", now_);
    fetch_->failed(*two, "timeout", now_);
    EXPECT_TRUE(fetch_->check());
    EXPECT_TRUE(fetch_->next(now_ + limits_.rest));
}

TEST_F(BlobFetchTest, WithoutPeersTheLastErrorIsReported) {
    add(content(500, 'a'));
    peers_.resize(2);
    peers_[0].serves = 2;
    peers_[1].fails = true;
    start();
    const auto done = run();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("peer1: connection refused"), std::string::npos)
        << done.error().message;
}

TEST_F(BlobFetchTest, PeerWithWrongBytesIsIdentified) {
    for (int i = 0; i < 5; ++i)
        add(content(1000, static_cast<char>('a' + i)));
    peers_.resize(3);
    peers_[1].lies = true;
    start();
    ASSERT_TRUE(run());
    EXPECT_TRUE(is_whole());
    EXPECT_TRUE(noted("peer1: sent wrong bytes"));
    EXPECT_FALSE(noted("peer0"));
    EXPECT_FALSE(noted("peer2"));
}

TEST_F(BlobFetchTest, PeerThatFailsAfterWrongBytesIsIdentified) {
    add(content(5000, 'a'));
    peers_.resize(2);
    peers_[0].ducks = true;
    start();
    ASSERT_TRUE(run()) << notes_;
    EXPECT_TRUE(is_whole());
    EXPECT_TRUE(noted("peer0: sent wrong bytes"));
    EXPECT_FALSE(noted("peer1"));
}

TEST_F(BlobFetchTest, TwoWrongPeersOfThreeAreIdentified) {
    add(content(1000, 'a'));
    peers_.resize(3);
    peers_[0].lies = peers_[1].lies = true;
    start();
    ASSERT_TRUE(run()) << notes_;
    EXPECT_TRUE(is_whole());
    EXPECT_FALSE(noted("peer2: sent"));
}

TEST_F(BlobFetchTest, OnlyWrongPeersFailTheFetch) {
    add(content(1000, 'a'));
    peers_.resize(2);
    peers_[0].lies = peers_[1].lies = true;
    start();
    const auto done = run();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("sent wrong bytes"), std::string::npos) << done.error().message;
    EXPECT_EQ(stream_.find(last_blob_frame()), std::string::npos);
}

TEST_F(BlobFetchTest, BlobMissingOnOnePeerIsFetchedElsewhere) {
    const std::string one = add(content(300, 'a'));
    const std::string two = add(content(300, 'b'));
    peers_.resize(2);
    peers_[0].lacks = {one};
    peers_[1].lacks = {two};
    start();
    ASSERT_TRUE(run());
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(notes_, "");
}

TEST_F(BlobFetchTest, BlobMissingOnAllPeersIsNamed) {
    add(content(300, 'a'));
    const std::string two = add(content(300, 'b'));
    peers_.resize(2);
    peers_[0].lacks = {two};
    peers_[1].lacks = {two};
    start();
    const auto done = run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::NotFound);
    EXPECT_NE(done.error().message.find(two), std::string::npos);
}

TEST_F(BlobFetchTest, ExistingBytesAreNotFetched) {
    const std::string part = add(content(1000, 'a'));
    const std::string all = add(content(500, 'b'));
    const std::map<std::string, std::string> there{{part, contents_[part].substr(0, 950)},
                                                   {all, contents_[all]}};
    peers_.resize(1);
    start(there);
    ASSERT_TRUE(run());
    EXPECT_EQ(asked_of_[0], 1U);
    EXPECT_EQ(stream_,
              blob_frame(part, 950) + contents_[part].substr(950) + blob_frame(all, 500) + last_blob_frame());
}

TEST_F(BlobFetchTest, DamagedLeftoverIsFetchedWithoutBlame) {
    const std::string hex = add(content(1000, 'a'));
    peers_.resize(1);
    const std::map<std::string, std::string> there{{hex, std::string(400, 'z')}};
    start(there);
    ASSERT_TRUE(run()) << notes_;
    EXPECT_TRUE(is_whole(there));
    EXPECT_FALSE(noted("peer0"));
}

TEST_F(BlobFetchTest, SlowPartIsRequestedFromAnotherPeer) {
    add(content(5000, 'a'));
    peers_.resize(2);
    peers_[0].takes = Time(60'000);
    start();
    ASSERT_TRUE(run());
    EXPECT_TRUE(is_whole());
    EXPECT_LT(now_, Time(60'000));
}

TEST_F(BlobFetchTest, SecondRequestWaitsForTheHedgeDelay) {
    add(content(100, 'a'));
    peers_.resize(2);
    start();
    const auto part = fetch_->next(now_);
    ASSERT_TRUE(part);
    EXPECT_FALSE(fetch_->next(now_ + limits_.hedge - Time(1)));
    const auto same = fetch_->next(now_ + limits_.hedge);
    ASSERT_TRUE(same);
    EXPECT_EQ(same->id, part->id);
    EXPECT_NE(same->peer, part->peer);
}

TEST_F(BlobFetchTest, OtherPartsOfAWrongPeerAreDropped) {
    const std::string one = add(content(100, 'a'));
    add(content(100, 'b'));
    const std::string three = add(content(100, 'c'));
    peers_.resize(2);
    peers_[0].lies = true;
    start();
    ASSERT_TRUE(run());
    EXPECT_TRUE(is_whole());
    EXPECT_TRUE(noted("blob sha256:" + one + ": digest mismatch"));
    EXPECT_FALSE(noted("blob sha256:" + three));
    EXPECT_EQ(asked_of_[0], 2U) << "one of them for the third blob";
}

TEST_F(BlobFetchTest, RandomFaultsSucceedWithOneGoodPeer) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto up_to = [&](std::size_t most) { return random() % (most + 1); };
        peers_.assign(2 + up_to(4), {});
        order_.clear();
        contents_.clear();
        pending_.clear();
        stream_ = notes_ = "";
        now_ = Time(0);
        std::map<std::string, std::string> there;
        for (std::size_t i = 0; i <= up_to(12); ++i) {
            const std::string hex = add(content(up_to(1500), static_cast<char>(i * 17)));
            if (up_to(5) == 0)
                there[hex] = contents_[hex].substr(0, up_to(contents_[hex].size()));
        }
        std::sort(order_.begin(), order_.end());
        order_.erase(std::unique(order_.begin(), order_.end()), order_.end());
        for (std::size_t i = 1; i < peers_.size(); ++i) {
            peers_[i].fails = up_to(6) == 0;
            peers_[i].lies = up_to(4) == 0;
            peers_[i].ducks = up_to(4) == 0;
            peers_[i].serves = up_to(60);
            peers_[i].takes = Time(up_to(3000));
            for (const std::string& hex : order_)
                if (up_to(6) == 0)
                    peers_[i].lacks.insert(hex);
        }
        start(there);
        const auto done = run();
        ASSERT_TRUE(done) << done.error().message << notes_;
        ASSERT_TRUE(is_whole(there)) << notes_;
        for (std::size_t i = 0; i < peers_.size(); ++i)
            ASSERT_FALSE(!peers_[i].lies && !peers_[i].ducks &&
                         noted("peer" + std::to_string(i) + ": sent wrong"))
                << notes_;
    }
}

} // namespace
} // namespace gpuhost::images
