// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/components.hpp"

#include <set>

#include <gtest/gtest.h>

namespace gpuhost {

TEST(StepCode, EachKindHasCodeForExactlyItsPhases) {
    const core::StepCodes codes = step_code();
    const core::StepKinds kinds = step_kinds();
    EXPECT_EQ(codes.all().size(), kinds.all().size());
    for (const core::StepKind& kind : kinds.all()) {
        const core::StepCode* code = codes.find(kind.name);
        ASSERT_NE(code, nullptr) << kind.name;
        EXPECT_EQ(kind.has_preflight, code->preflight != nullptr) << kind.name;
        EXPECT_EQ(kind.has_apply, code->apply != nullptr) << kind.name;
        EXPECT_EQ(kind.has_undo, code->undo != nullptr) << kind.name;
        EXPECT_TRUE(code->apply || !code->verify) << kind.name << " has a verify that never runs";
    }
}

TEST(StepKinds, NamesAreUniqueAndDeadlinesLongEnough) {
    std::set<std::string> names;
    const core::StepKinds kinds = step_kinds();
    for (const core::StepKind& kind : kinds.all()) {
        EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
        EXPECT_GE(kind.deadline, std::chrono::minutes(1)) << kind.name;
    }
}

} // namespace gpuhost
