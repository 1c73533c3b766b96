// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/devices/list_strategy.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

TEST(ListStrategy, WordsInAnyOrderAreNames) {
    const auto all = list_strategies({"volume-mounts", "envvar", "cdi-annotations", "cdi-cri", "envvar"});
    ASSERT_TRUE(all);
    EXPECT_EQ(names_of(*all), (Texts{"cdi-cri", "cdi-annotations", "envvar", "volume-mounts"}));
    EXPECT_EQ(list_strategies_mistake(names_of(*all)), "");
    for (const ListStrategy strategy : *all)
        EXPECT_EQ(list_strategy(name_of(strategy)), strategy);
}

TEST(ListStrategy, MistakeNamesTheNearestWord) {
    EXPECT_EQ(list_strategies({"envvar", "CDI-cri"}), std::nullopt);
    EXPECT_EQ(list_strategies_mistake({"envvar", "CDI-cri"}),
              "has 'CDI-cri', which is not one of: cdi-cri, cdi-annotations, envvar, volume-mounts (did you "
              "mean 'cdi-cri'?)");
    EXPECT_EQ(list_strategies_mistake({"none"}),
              "has 'none', which is not one of: cdi-cri, cdi-annotations, envvar, volume-mounts");
    EXPECT_EQ(list_strategies({}), std::nullopt);
    EXPECT_NE(list_strategies_mistake({}), "");
}

TEST(ListStrategy, JsonHasTheNames) {
    const ListStrategies some{ListStrategy::envvar, ListStrategy::cdi_cri};
    const auto parsed = list_strategies_from_json(names_of(some));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, some);
    EXPECT_EQ(*list_strategies_from_json(Json()), ListStrategies{ListStrategy::cdi_cri});
    for (const Json& value : {Json("envvar"), Json::array(), Json{1}, Json{"all"}, Json::object()})
        EXPECT_FALSE(list_strategies_from_json(value)) << value;
}

} // namespace
} // namespace gpuhost::devices
