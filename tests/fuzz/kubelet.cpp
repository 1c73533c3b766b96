// SPDX-License-Identifier: Apache-2.0
// Parses messages of the kubelet: the first byte of the input chooses which.
#include "daemon/rpc/kubelet/codec.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <kubelet/deviceplugin.pb.h>
#include <kubelet/pluginregistration.pb.h>
#include <kubelet/podresources.pb.h>

using namespace gpuhost;

namespace {

template <class Message>
void check(std::string_view bytes) {
    const auto message = rpc::parse<Message>(bytes);
    if (!message)
        return;
    const auto again = rpc::parse<Message>(rpc::bytes_of(*message));
    fuzz::require(again && again->ByteSizeLong() == message->ByteSizeLong(), "a message survives");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string_view bytes = fuzz::text_of(data, size).substr(1);
    switch (data[0] % 5) {
    case 0:
        check<pluginregistration::RegistrationStatus>(bytes);
        break;
    case 1:
        check<v1beta1::AllocateRequest>(bytes);
        break;
    case 2:
        check<v1beta1::PreferredAllocationRequest>(bytes);
        break;
    case 3:
        check<v1beta1::AllocateResponse>(bytes);
        break;
    default:
        check<v1::ListPodResourcesResponse>(bytes);
    }
    return 0;
}
