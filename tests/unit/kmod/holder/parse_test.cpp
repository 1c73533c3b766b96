// SPDX-License-Identifier: Apache-2.0
#include "kmod/holder/parse.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string uid = "8f0c2d3e-1111-2222-3333-444455556666";

struct CgroupCase {
    const char* name;
    std::string text;
    std::string unit;
    std::string container;
    std::string pod;
};

class Cgroup : public testing::TestWithParam<CgroupCase> {};

TEST_P(Cgroup, UnitContainerAndPodAreRead) {
    const Origin origin = parse_cgroup(GetParam().text);
    EXPECT_EQ(origin.unit, GetParam().unit);
    EXPECT_EQ(origin.container, GetParam().container);
    EXPECT_EQ(origin.pod, GetParam().pod);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Cgroup,
    testing::Values(
        CgroupCase{"Service", "0::/system.slice/nvidia-persistenced.service\n", "nvidia-persistenced.service",
                   "", ""},
        CgroupCase{"GroupBelowAService", "0::/system.slice/foo.service/workers/a\n", "foo.service", "", ""},
        CgroupCase{"OldLayout",
                   "12:devices:/user.slice\n1:name=systemd:/system.slice/ssh.service\n0::/ignored.service\n",
                   "ssh.service", "", ""},
        CgroupCase{"Session", "0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope", "", ""},
        CgroupCase{"UserManager", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n",
                   "user@1000.service", "", ""},
        CgroupCase{"Docker", "0::/system.slice/docker-" + id + ".scope\n", "docker-" + id + ".scope", id, ""},
        CgroupCase{"DockerByCgroupfs", "0::/docker/" + id + "\n", "", id, ""},
        CgroupCase{"PodBySystemd",
                   "0::/kubepods.slice/kubepods-burstable.slice/"
                   "kubepods-burstable-pod8f0c2d3e_1111_2222_3333_444455556666"
                   ".slice/cri-containerd-" +
                       id + ".scope\n",
                   "cri-containerd-" + id + ".scope", id, uid},
        CgroupCase{"PodByCgroupfs", "0::/kubepods/besteffort/pod" + uid + "/" + id + "\n", "", id, uid},
        CgroupCase{"CrioPod", "0::/kubepods.slice/kubepods-pod" + uid + ".slice/crio-" + id + ".scope\n",
                   "crio-" + id + ".scope", id, uid},
        CgroupCase{"NotAPod", "0::/system.slice/podman.service\n", "podman.service", "", ""},
        CgroupCase{"Init", "0::/init.scope\n", "init.scope", "", ""}, CgroupCase{"Empty", "", "", "", ""},
        CgroupCase{"Garbage", "::::\n0:\n:/\n", "", "", ""}),
    [](const auto& param) { return param.param.name; });

TEST(Maps, MappedFilesAreListedOnce) {
    const auto maps = parse_maps("7f00-7f01 r--p 00000000 fd:01 131   /usr/lib/libcuda.so.1\n"
                                 "7f01-7f02 r-xp 00001000 fd:01 131   /usr/lib/libcuda.so.1\n"
                                 "7f02-7f03 rw-p 00000000 00:00 0 \n"
                                 "7f03-7f04 rw-s 00000000 00:06 412   /dev/nvidia0\n"
                                 "7f04-7f05 r--p 00000000 08:10 9     /tmp/with blank (deleted)\n"
                                 "7ffd-7ffe rw-p 00000000 00:00 0     [stack]\n"
                                 "7ffe-7fff rw-p 00000000 00:00 0     [anon:a/b]\n"
                                 "torn li");
    ASSERT_EQ(maps.size(), 3U);
    EXPECT_EQ(maps[0].inode, 131U);
    EXPECT_EQ(maps[1].path, "/dev/nvidia0");
    EXPECT_EQ(maps[2].path, "/tmp/with blank (deleted)");
}

TEST(Maps, DriverDevicesAreRecognized) {
    EXPECT_EQ(may_be_driver_device("/dev/nvidia-uvm"), "/dev/nvidia-uvm");
    EXPECT_EQ(may_be_driver_device("/run/nvidia/driver/dev/nvidia0 (deleted)"),
              "/run/nvidia/driver/dev/nvidia0");
    EXPECT_EQ(may_be_driver_device("/dev/dri/renderD128"), "/dev/dri/renderD128");
    EXPECT_EQ(may_be_driver_device("/usr/lib/libnvidia-ml.so.1"), "");
    EXPECT_EQ(may_be_driver_device("/dev/zero"), "");
}

} // namespace
} // namespace gpuhost::kmod
