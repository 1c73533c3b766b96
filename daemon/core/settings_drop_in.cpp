// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/settings_drop_in.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::core {

using base::Errc;
using base::Result;

Result<void> write_list(const base::Root& root, std::span<const SettingKey> keys, const ListDropIn& list,
                        const std::vector<std::string>& words) {
    const auto before = root.read(list.path);
    if (!before && before.error().code != Errc::NotFound)
        return base::fail(before.error());
    const std::string key(list.key);
    GPUHOST_CHECK(root.make_directories(std::string(list.path.substr(0, list.path.rfind('/')))));
    GPUHOST_CHECK(root.write_atomic(list.path, "# Written by " + std::string(list.writers) + ".\n[" +
                                                   std::string(list.section) + "]\n" + key + "=" +
                                                   base::join(words, " ") + "\n"));
    const Settings now = load_settings(root, {keys}).settings;
    if (now.words(list.section, list.key) == words)
        return {};
    GPUHOST_CHECK(before ? root.write_atomic(list.path, *before) : root.remove(list.path));
    return base::fail(Errc::Refused,
                      key + "= is set in " + now.get(list.section, list.key).source +
                          ", which overrides this file",
                      "Change it in that file.");
}

std::vector<std::string> read_list(const base::Root& root, std::span<const SettingKey> keys,
                                   const ListDropIn& list) {
    return load_settings(root, {keys}).settings.words(list.section, list.key);
}

} // namespace gpuhost::core
