// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/options.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using Words = std::vector<std::string>;

constexpr std::array<std::string_view, 2> known{"link", "folder"};

TEST(HookOptions, BothSpellingsOfValuesAreAccepted) {
    const auto options =
        parse_hook_options(Words{"--link", "a::b", "--folder=/x", "--link=c=d", "--link", "--folder"}, known);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->at("link"), (Words{"a::b", "c=d", "--folder"}));
    EXPECT_EQ(options->at("folder"), Words{"/x"});
}

TEST(HookOptions, UnknownOptionsAreRefused) {
    for (const Words& words : {Words{"link", "x"}, Words{"-link", "x"}, Words{"--lin", "x"}, Words{"--link"},
                               Words{"--"}, Words{"--=x"}, Words{""}, Words{"=--link"}})
        EXPECT_EQ(parse_hook_options(words, known).error().code, Errc::InvalidArgument) << words.front();
}

} // namespace
} // namespace gpuhost::runtime
