// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/arguments.hpp"

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

struct Arguments {
    std::string root = "/";
    bool peers = false;
    std::vector<std::string> words;

    std::optional<int> parse(std::vector<std::string> argv, bool takes_words = true) {
        std::vector<char*> pointers;
        for (std::string& word : argv)
            pointers.push_back(word.data());
        return parse_arguments(pointers, {"a-service", "a-service [OPTIONS]\n"},
                               {{"--root=", &root}, {"--peers", nullptr, &peers}},
                               takes_words ? &words : nullptr);
    }
};

TEST(Arguments, RootPeersAndWordsAreParsed) {
    Arguments none;
    EXPECT_EQ(none.parse({}), std::nullopt);
    EXPECT_EQ(none.parse({"a-service"}), std::nullopt);
    EXPECT_EQ(none.root, "/");
    Arguments all;
    EXPECT_EQ(all.parse({"a-service", "site", "--root=/mnt=1", "--peers", "other"}), std::nullopt);
    EXPECT_EQ(all.root, "/mnt=1");
    EXPECT_TRUE(all.peers);
    EXPECT_EQ(all.words, (std::vector<std::string>{"site", "other"}));
}

TEST(Arguments, UnknownOptionsAreRefused) {
    for (const char* argument : {"--peer", "--peers=1", "--root", "-v", "--", "-"}) {
        Arguments arguments;
        EXPECT_EQ(arguments.parse({"a-service", argument}), 2) << argument;
        EXPECT_FALSE(arguments.peers) << argument;
    }
    EXPECT_EQ(Arguments().parse({"a-service", "word"}, false), 2);
}

TEST(Arguments, HelpAndVersionIgnoreLaterArguments) {
    for (const char* argument : {"--help", "-h"}) {
        testing::internal::CaptureStdout();
        EXPECT_EQ(Arguments().parse({"a-service", argument, "--bad"}), 0);
        EXPECT_EQ(testing::internal::GetCapturedStdout(), "a-service [OPTIONS]\n");
    }
    testing::internal::CaptureStdout();
    EXPECT_EQ(Arguments().parse({"a-service", "--version"}), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout().rfind("a-service ", 0), 0U);
}

} // namespace
} // namespace gpuhost::base
