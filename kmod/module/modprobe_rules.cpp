// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/modprobe_rules.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

bool replaces_nvidia(const std::string& line) {
    const std::vector<std::string> words = base::split_words(line);
    return words.size() > 2 && (words[0] == "install" || words[0] == "alias") &&
           base::starts_with(words[1], "nvidia");
}

} // namespace

std::vector<std::string> rules_in_place_of_nvidia(const base::Root& root) {
    std::vector<std::string> directories{"/etc/modprobe.d", "/usr/local/lib/modprobe.d",
                                         "/usr/lib/modprobe.d"};
    if (!root.read_link("/lib")) // if /lib is a link to usr/lib, this directory is in the list already
        directories.emplace_back("/lib/modprobe.d");
    std::vector<std::string> files;
    for (const std::string& directory : directories)
        for (const std::string& name : root.list(directory).value_or(std::vector<std::string>())) {
            const std::string path = directory + "/" + name;
            const auto text = root.read(path);
            if (!text || !base::ends_with(name, ".conf"))
                continue;
            const std::vector<std::string> lines = base::split(*text, '\n');
            if (std::any_of(lines.begin(), lines.end(), replaces_nvidia))
                files.push_back(path);
        }
    return files;
}

} // namespace gpuhost::kmod
