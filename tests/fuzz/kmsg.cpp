// SPDX-License-Identifier: Apache-2.0
// Parses records of /dev/kmsg, separated by lines "%", and derives the health of GPUs from them.
#include "daemon/devices/health/health.hpp"
#include "daemon/devices/health/kmsg_record.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

namespace {

bool is_printable(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

devices::Offer offer_with_gpus() {
    devices::Gpu split;
    split.uuid = "GPU-1";
    split.address = "0000:01:00.0";
    split.instances = {{"MIG-1", "1g.10gb", 0, 1, 0}, {"MIG-2", "1g.10gb", 1, 2, 0}};
    devices::Offer offer;
    offer.gpus = {split};
    offer.health.fatal_xids = {48};
    return offer;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const devices::Offer offer = offer_with_gpus();
    const std::string_view text = fuzz::text_of(data, size);
    devices::FaultLog log;
    constexpr std::string_view separator = "\n%\n";
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(separator, begin), text.size());
        if (const auto record = devices::parse_kmsg_record(text.substr(begin, end - begin))) {
            fuzz::require(is_printable(record->text), "a record's text is printable");
            if (const auto event = devices::parse_kernel_line(record->text))
                devices::add_event(log, *event, record->since_boot_us);
        }
        if (const auto event = devices::parse_kernel_line(text.substr(begin, end - begin)))
            fuzz::require(is_printable(event->text) && event->text.size() <= devices::longest_reason,
                          "a reason is short and printable");
        begin = end + separator.size();
    }
    const auto again = devices::parse_fault_log(devices::to_text(log));
    fuzz::require(again && *again == log, "a log is its own normal form");
    for (const devices::DeviceHealth& health : devices::evaluate_health(log, offer))
        fuzz::require(health.state != devices::HealthState::healthy && !health.reason.empty(),
                      "a device is listed with a reason");
    return 0;
}
