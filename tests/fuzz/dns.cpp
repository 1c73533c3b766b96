// SPDX-License-Identifier: Apache-2.0
#include "images/peers/dns_sd.hpp"
#include "images/peers_settings.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto answer = fuzz::text_of(data, size);
    for (const std::string& instance : images::parse_instances(answer).value_or(std::vector<std::string>()))
        fuzz::require(!instance.empty() && std::all_of(instance.begin(), instance.end(),
                                                       [](char c) { return c > ' ' && c <= '~'; }),
                      "a name can be printed");
    for (const std::string& server : images::parse_servers(answer).value_or(std::vector<std::string>())) {
        fuzz::require(images::is_host_name(server.substr(0, server.find(':'))), "a server is a host");
        fuzz::require(!images::peer_url(server).empty(), "a server has a URL");
    }
    return 0;
}
