// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/watch.hpp"
#include "tests/support/simulated_server.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using gpuhost::tests::SimulatedServer;
using gpuhost::tests::TempDir;

/// Nodes of `size` bytes, and a watch that lists them.
struct Listing {
    Listing(unsigned nodes, std::size_t size) {
        directory.write("etc/k.conf", tests::kubeconfig(tests::cluster_members("https://api")));
        for (unsigned i = 0; i < nodes; ++i)
            server.put("/api/v1/nodes/n" + std::to_string(i),
                       {{"status", {{"images", std::string(size, 'i')}}}});
        api.emplace(Api::open(root, "/etc/k.conf").value());
        watch.emplace(*api, "/api/v1/nodes", "",
                      WatchHandlers{[](Json&&) {}, [this](const std::set<std::string>& all) { names = all; },
                                    [](Json&&) {},
                                    [this](const base::Error& error) { trouble = error.message; }});
    }
    void run(Time duration) {
        for (const Time end = server.now() + duration; server.now() < end && names.empty();) {
            server.advance(server.now() + Time(10));
            api->work();
            watch->turn();
        }
    }

    TempDir directory;
    base::Root root = directory.root();
    SimulatedServer server{1};
    std::optional<Api> api;
    std::set<std::string> names;
    std::string trouble;
    std::optional<Watch> watch;
};

TEST(Watch, LargeObjectsAreListedInSmallerPages) {
    Listing listing(3, 3U << 20U);
    listing.run(Time(10'000));
    EXPECT_EQ(listing.names.size(), 3U) << listing.trouble;
    EXPECT_EQ(listing.trouble, "");
}

TEST(Watch, TooLargeObjectIsReported) {
    Listing listing(1, 9U << 20U);
    listing.run(Time(10'000));
    EXPECT_TRUE(listing.names.empty());
    EXPECT_NE(listing.trouble.find("longer than"), std::string::npos) << listing.trouble;
    EXPECT_LE(listing.server.calls, 20U);
}

} // namespace
} // namespace gpuhost::cluster
