// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/collection.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(Collection, SourceHasNoPassword) {
    for (const char* url :
         {"https://joe:secret@site.example:8443/a@b/c.deb", "https://joe@site.example:8443/a@b/c.deb",
          "https://joe:se@cret@site.example:8443/a@b/c.deb", "https://site.example:8443/a@b/c.deb"})
        EXPECT_EQ(without_password(url), "https://site.example:8443/a@b/c.deb");
    EXPECT_EQ(without_password("https://joe:secret@site.example"), "https://site.example");
    for (const char* other :
         {"file:/srv/joe@site/c.deb", "/srv/joe@site/c.deb", "docker://site.example/app:v1"})
        EXPECT_EQ(without_password(other), other);
}

} // namespace
} // namespace gpuhost::ctl
