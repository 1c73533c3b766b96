// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/spec.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

constexpr const char* every_section = R"([Bundle]
Name=site
Generation=7

[Driver 550.163.01 linux/amd64]
GPUs=10de:2330 10de:2331
Packages=driver/550.163.01/nvidia-smi_550.163.01-2_amd64.deb
Packages=driver/550.163.01/lib*.deb

[Modules 550.163.01 6.1.0-50-amd64 linux/amd64]
Flavour=open
Files=built/*.ko

[Toolkit 1.18.1]
Packages=toolkit/*.deb

[Packages debian-12 linux/amd64]
Files=packages/make_4.3-4.1_amd64.deb
OpenPGPKey=ops@example other@example

[Packages rhel-9]
Repository=el9

[Files runbooks]
Directory=pdf

[Image registry.example/team/app:v1]
Layout=images
Reference=v1
Platforms=linux/amd64 linux/arm64

[Images]
Archive=all.tar
)";

TEST(BundleSpec, WrittenTextHasTheSameSections) {
    const auto spec = parse_bundle_spec(every_section, "site.spec");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(to_text(*spec), every_section);
}

TEST(BundleSpec, WrittenTextIsParsedAgain) {
    BundleSpec spec;
    spec.name = "site";
    spec.artifacts.push_back({"packages", "debian-12", "", "linux/amd64", {"packages/a.deb"}, ""});
    const auto again = parse_bundle_spec(to_text(spec), "site.spec");
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(again->artifacts.size(), 1U);
    EXPECT_EQ(again->artifacts[0].name, "debian-12");
    EXPECT_EQ(again->artifacts[0].platform, "linux/amd64");
    EXPECT_EQ(again->artifacts[0].patterns, spec.artifacts[0].patterns);
    EXPECT_EQ(again->generation, 0U);
}

} // namespace
} // namespace gpuhost::images
