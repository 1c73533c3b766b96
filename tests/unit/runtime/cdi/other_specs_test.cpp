// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/other_specs.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

TEST(OtherSpecs, KindIsFoundInYamlAndJson) {
    for (const char* text : {"kind: nvidia.com/gpu\n", "kind: \"nvidia.com/gpu\"",
                             "{\"kind\":\"nvidia.com/gpu\",\"devices\":[]}",
                             R"({"annotations": {"kind": "x"}, "kind" : "nvidia.com/gpu"})",
                             "---\nkind:\tnvidia.com/gpu # one\n"})
        EXPECT_TRUE(speaks_of(text, "nvidia.com/gpu")) << text;
    for (const char* text : {"kind: k8s.device-plugin.nvidia.com/gpu", "kind: nvidia.com/gpu-all",
                             "nvidia.com/gpu", "name: nvidia.com/gpu", "kinds: of nvidia.com/gpu", ""})
        EXPECT_FALSE(speaks_of(text, "nvidia.com/gpu")) << text;
}

TEST(OtherSpecs, FindsSpecsWithOtherNamesOnly) {
    const tests::TempDir host;
    const std::vector<std::string> kinds{"nvidia.com/gds", "nvidia.com/gpu"};
    for (const char* name : {"nvidia.yaml", "other.json", "other.txt"})
        host.write(std::string("run/cdi/") + name, "kind: nvidia.com/gpu");
    const auto found = other_specs(host.root(), "/run/cdi", {"nvidia.yaml"}, kinds);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().find("/run/cdi/other.json also has devices of nvidia.com/gpu:"), 0U);
    EXPECT_TRUE(other_specs(host.root(), "/absent", {}, kinds).empty());
}

} // namespace
} // namespace gpuhost::runtime
