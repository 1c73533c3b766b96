// SPDX-License-Identifier: Apache-2.0
// Sets a setting: the first byte chooses the key, the rest is its value.
#include "daemon/core/settings.hpp"

#include "tests/fuzz/fuzz.hpp"

#include <array>

using namespace gpuhost;
using core::SettingType;

namespace {

constexpr std::array keys{
    core::SettingKey{"Fuzz", "String", SettingType::String, "", "", ""},
    core::SettingKey{"Fuzz", "Boolean", SettingType::Boolean, "yes", "", ""},
    core::SettingKey{"Fuzz", "Span", SettingType::Span, "30s", "", ""},
    core::SettingKey{"Fuzz", "Unsigned", SettingType::Unsigned, "1", "", ""},
    core::SettingKey{"Fuzz", "Choice", SettingType::Choice, "one", "one two", ""},
    core::SettingKey{"Fuzz", "Words", SettingType::Words, "", "", ""},
    core::SettingKey{"Fuzz", "Version", SettingType::DriverVersion, "", "", ""},
};

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const auto& key = keys.at(data[0] % keys.size());
    core::Settings settings({std::span<const core::SettingKey>(keys)});
    const auto before = settings.get("Fuzz", key.key).value;
    const auto set = settings.set("Fuzz", key.key, std::string(fuzz::text_of(data + 1, size - 1)), "input");
    fuzz::require(set || settings.get("Fuzz", key.key).value == before,
                  "an invalid value preserves the earlier one");
    // Each accepted value can be read as its type.
    (void)settings.boolean("Fuzz", "Boolean");
    (void)settings.number("Fuzz", "Unsigned");
    (void)settings.words("Fuzz", "Words");
    fuzz::require(settings.span("Fuzz", "Span").count() >= 0, "a span is never negative");
    const auto choice = settings.string("Fuzz", "Choice");
    fuzz::require(choice == "one" || choice == "two", "a choice is one of its values");
    return 0;
}
