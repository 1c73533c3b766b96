// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/modprobe_rules.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    for (const ctl::ModprobeRule& rule : ctl::modprobe_rules(text, "f")) {
        fuzz::require(rule.command == "install" || rule.command == "blacklist",
                      "a rule is install or blacklist");
        fuzz::require(rule.module.find_first_of(" \t\n-") == std::string::npos,
                      "a module's name is one word");
    }
    (void)ctl::command_line_blocks_nouveau(text);
    return 0;
}
