// SPDX-License-Identifier: Apache-2.0
// The bytes are those of Go's stubs: "peer golden" of tests/cluster/modules/rpc.
#include "daemon/base/hex.hpp"
#include "daemon/rpc/kubelet/codec.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <kubelet/deviceplugin.pb.h>
#include <kubelet/pluginregistration.pb.h>
#include <kubelet/podresources.pb.h>

namespace gpuhost::rpc {
namespace {

std::string bytes(std::string_view hex) {
    std::vector<std::uint8_t> values(hex.size() / 2);
    EXPECT_TRUE(base::from_hex(hex, values));
    return {values.begin(), values.end()};
}

/// Parses bytes of Go's stubs, and checks that they are the message's bytes here, too.
template <class Message>
Message golden(std::string_view hex) {
    const auto message = parse<Message>(bytes(hex));
    EXPECT_TRUE(message);
    EXPECT_EQ(bytes_of(message.value_or(Message())), bytes(hex));
    return message.value_or(Message());
}

TEST(Codec, RegistrationHasGosBytes) {
    const auto info =
        golden<pluginregistration::PluginInfo>("0a0c446576696365506c7567696e120e6e76696469612e636f6d2f6770751"
                                               "a0d2f72756e2f6770752e736f636b220776316265"
                                               "74613122027631");
    EXPECT_EQ(info.type(), "DevicePlugin");
    EXPECT_EQ(info.name(), "nvidia.com/gpu");
    EXPECT_EQ(info.endpoint(), "/run/gpu.sock");
    ASSERT_EQ(info.supported_versions_size(), 2);
    EXPECT_EQ(info.supported_versions(1), "v1");
    const auto status = golden<pluginregistration::RegistrationStatus>("080112086772c3b6c39f6572");
    EXPECT_TRUE(status.plugin_registered());
    EXPECT_EQ(status.error(), "größer");
}

TEST(Codec, DevicesHaveGosBytes) {
    const auto options = golden<v1beta1::DevicePluginOptions>("08011001");
    EXPECT_TRUE(options.pre_start_required());
    EXPECT_TRUE(options.get_preferred_allocation_available());
    const auto list =
        golden<v1beta1::ListAndWatchResponse>("0a230a054750552d3112074865616c7468791a110a0208010a0b08ffffffff"
                                              "ffffffffff010a120a054750552d321209556e68"
                                              "65616c746879");
    ASSERT_EQ(list.devices_size(), 2);
    EXPECT_EQ(list.devices(0).id(), "GPU-1");
    EXPECT_EQ(list.devices(0).topology().nodes(1).id(), -1);
    EXPECT_EQ(list.devices(1).health(), "Unhealthy");
}

TEST(Codec, AllocationHasGosBytes) {
    const auto wish = golden<v1beta1::PreferredAllocationRequest>("0a0c0a01610a016212016218ac02");
    EXPECT_EQ(wish.container_requests(0).available_deviceids(1), "b");
    EXPECT_EQ(wish.container_requests(0).must_include_deviceids(0), "b");
    EXPECT_EQ(wish.container_requests(0).allocation_size(), 300);
    const auto answer =
        golden<v1beta1::AllocateResponse>("0a4b0a060a0141120131120a0a022f6312022f6818011a150a062f6465762f6312"
                                          "062f6465762f681a0372776d22060a016b1201"
                                          "762a160a146e76696469612e636f6d2f6770753d4750552d31");
    const auto& container = answer.container_responses(0);
    EXPECT_EQ(container.envs().at("A"), "1");
    EXPECT_TRUE(container.mounts(0).read_only());
    EXPECT_EQ(container.devices(0).permissions(), "rwm");
    EXPECT_EQ(container.annotations().at("k"), "v");
    EXPECT_EQ(container.cdi_devices(0).name(), "nvidia.com/gpu=GPU-1");
}

TEST(Codec, PodResourcesHaveGosBytes) {
    const auto pods = golden<v1::ListPodResourcesResponse>(
        "0a91010a05747261696e120764656661756c741a7f0a046d61696e121e0a0e6e76696469612e636f6d2f6770751205475055"
        "2d30"
        "12054750552d311a08000180808080802022130a066d656d6f727910808080808080808080012a381205636c61696d1a0764"
        "6566"
        "61756c742226120e6770752e6e76696469612e636f6d1a046e6f646522056770752d302a0773686172652d31");
    const auto& container = pods.pod_resources(0).containers(0);
    EXPECT_EQ(pods.pod_resources(0).namespace_(), "default");
    EXPECT_EQ(container.cpu_ids(2), std::int64_t{1} << 40U);
    EXPECT_EQ(container.memory(0).size(), std::uint64_t{1} << 63U);
    EXPECT_EQ(container.devices(0).device_ids(1), "GPU-1");
    const auto& claim = container.dynamic_resources(0).claim_resources(0);
    EXPECT_EQ(claim.device_name(), "gpu-0");
    EXPECT_TRUE(claim.has_share_id());
    EXPECT_EQ(golden<v1::GetPodResourcesRequest>("0a05747261696e120764656661756c74").pod_name(), "train");
}

TEST(Codec, UnknownFieldsAreSkipped) {
    // Field 1 "a", then fields 15 of all wire types.
    const auto info = parse<pluginregistration::PluginInfo>(bytes("0a01617801790102030405060708"
                                                                  "7a0178"
                                                                  "7d01020304"));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->type(), "a");
}

TEST(Codec, MalformedMessagesAreRefused) {
    for (const std::string_view hex : {"0a", "0a05", "0aff", "0a02c328", "08", "07", "0affffffffff01"}) {
        const auto info = parse<pluginregistration::PluginInfo>(bytes(hex));
        ASSERT_FALSE(info) << hex;
        EXPECT_EQ(info.error().code, base::Errc::InvalidArgument);
    }
}

} // namespace
} // namespace gpuhost::rpc
