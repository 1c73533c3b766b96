// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/host_facts.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

/// Returns the first bytes of an ELF file for this machine (elf(5)).
std::string program_for(unsigned char machine) {
    std::string head = std::string("\x7f"
                                   "ELF\x02\x01\x01",
                                   7) +
                       std::string(11, '\0');
    head += {static_cast<char>(machine), '\0'};
    return head + std::string(44, '\0');
}

TEST(HostPlatform, MountedSystemHasItsProgramsPlatform) {
    const tests::TempDir directory;
    const base::Root root = base::Root::open(directory.path()).value();
    EXPECT_EQ(host_platform(root), host_platform(base::Root::open("/").value()))
        << "without programs, the platform of this host";
    directory.write("bin/sh", program_for(183));
    EXPECT_EQ(host_platform(root), "linux/arm64");
    directory.write("usr/lib/systemd/systemd", program_for(62));
    EXPECT_EQ(host_platform(root), "linux/amd64");
    directory.write("usr/lib/systemd/systemd", "#!/bin/sh\n");
    EXPECT_EQ(host_platform(root), "linux/arm64") << "not an ELF file";
}

} // namespace
} // namespace gpuhost::images
