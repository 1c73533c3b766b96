// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/supported_gpus.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view file_name = "supported-gpus.json";
constexpr std::string_view open_feature = "kernelopen";

/// Converts a "devid": "0x1DB6" → "10de:1db6". Returns nothing if it is invalid.
std::optional<std::string> numbers_of(std::string_view device) {
    if (device.size() != 6 || !base::starts_with(device, "0x") || !base::parse_uint(device.substr(2), 16))
        return std::nullopt;
    std::string digits(device.substr(2));
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
    return "10de:" + digits;
}

} // namespace

bool is_supported_gpus(const content::ArchiveEntry& entry) {
    return entry.type == content::ArchiveEntry::Type::File &&
           entry.path.substr(entry.path.rfind('/') + 1) == file_name;
}

Result<std::vector<std::string>> parse_supported_gpus(std::string_view text, std::string_view what) {
    GPUHOST_TRY(document, base::parse_json(text, what));
    const Json& chips = base::member(document, "chips");
    if (!chips.is_array())
        return base::fail(Errc::BadContent, std::string(what) + ": has no list of GPUs",
                          "Download the package again: it is damaged.");
    std::set<std::string> closed;
    // A device may have several entries, one for each board; one with the feature is enough.
    std::set<std::string> open;
    for (const Json& chip : chips) {
        const auto numbers = numbers_of(base::string_or(chip, "devid", {}));
        if (!numbers)
            return base::fail(Errc::BadContent, std::string(what) + ": invalid device id of a GPU",
                              "Download the package again: it is damaged.");
        if (!base::string_or(chip, "legacybranch", {}).empty())
            continue;
        const auto features = base::strings_or_empty(chip, "features");
        const bool is_open = std::find(features.begin(), features.end(), open_feature) != features.end();
        (is_open ? open : closed).insert(*numbers);
    }
    std::vector<std::string> only;
    std::set_difference(closed.begin(), closed.end(), open.begin(), open.end(), std::back_inserter(only));
    return only;
}

} // namespace gpuhost::kmod
