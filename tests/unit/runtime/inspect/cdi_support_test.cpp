// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/cdi_support.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

std::string newest(RuntimeKind kind, const char* version) {
    return newest_cdi(kind, parse_version(version));
}

TEST(CdiSupport, NewestCdiFollowsTheRuntimesVersion) {
    EXPECT_EQ(newest(RuntimeKind::Podman, "4.2.1"), "");
    EXPECT_EQ(newest(RuntimeKind::Podman, "4.3.1"), "0.5.0");
    EXPECT_EQ(newest(RuntimeKind::Podman, "5.0.3"), "0.5.0");
    EXPECT_EQ(newest(RuntimeKind::Podman, "5.1.0"), "0.7.0");
    EXPECT_EQ(newest(RuntimeKind::Docker, "24.0.9"), "");
    EXPECT_EQ(newest(RuntimeKind::Docker, "26.0.2"), "0.5.0");
    EXPECT_EQ(newest(RuntimeKind::Docker, "26.1.5"), "0.7.0");
    EXPECT_EQ(newest(RuntimeKind::Containerd, "1.6.20"), "");
    EXPECT_EQ(newest(RuntimeKind::K3s, "v1.7.15-k3s1"), "0.5.0");
    EXPECT_EQ(newest(RuntimeKind::K3s, "v1.7.16-k3s1"), "0.7.0");
    EXPECT_EQ(newest(RuntimeKind::Containerd, "1.7.24~ds1"), "0.7.0");
    EXPECT_EQ(newest(RuntimeKind::Containerd, "2.0.0"), "0.7.0");
    EXPECT_EQ(newest(RuntimeKind::Crio, "1.24.6"), "");
    EXPECT_EQ(newest(RuntimeKind::Crio, "1.29.11"), "0.5.0");
    EXPECT_EQ(newest(RuntimeKind::Crio, "1.30.0"), "0.7.0");
    EXPECT_EQ(newest_cdi(RuntimeKind::Podman, std::nullopt), "");
}

TEST(CdiSupport, NewerSpecificationIsNotSupported) {
    EXPECT_TRUE(reads_cdi("0.5.0", "0.5.0"));
    EXPECT_TRUE(reads_cdi("0.7.0", "0.5.0"));
    EXPECT_FALSE(reads_cdi("0.5.0", "0.7.0"));
    EXPECT_FALSE(reads_cdi("", "0.5.0"));
    EXPECT_TRUE(reads_cdi("", "")) << "no specification is published";
}

TEST(CdiSupport, UnknownVersionCountsAsOld) {
    const tests::TempDir host;
    EXPECT_EQ(find_cdi_readers(host.root()).old, "");
    host.write("usr/lib/systemd/system/containerd.service", "[Service]\nExecStart=/opt/cri/containerd\n");
    EXPECT_EQ(find_cdi_readers(host.root()).old, "") << "its program does not exist";
    host.write("opt/cri/containerd", "");
    const CdiReaders readers = find_cdi_readers(host.root());
    EXPECT_EQ(readers.old, "containerd of unknown version");
    EXPECT_NE(readers.programs.at("/opt/cri/containerd"), "");
    for (const char* later : {"/usr/bin/podman", "/usr/local/bin/containerd"})
        EXPECT_EQ(readers.programs.count(later), 1U) << later << " may be installed later";
}

} // namespace
} // namespace gpuhost::runtime
