// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/file.hpp"

#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/module/info.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

constexpr std::size_t index_limit = 16U << 20;

/// Returns whether a file with this name may contain the module, so that it must be read:
/// "nvidia_current_drm" may contain nvidia_drm.
bool may_be(std::string_view file_name, std::string_view module) {
    return file_name == module ||
           (base::starts_with(file_name, "nvidia") && base::starts_with(module, "nvidia"));
}

std::string modules_directory(std::string_view kernel) {
    return "/lib/modules/" + std::string(kernel) + "/";
}

std::vector<std::string> all_modules(const base::Root& root, std::string_view kernel) {
    const auto index = root.read(modules_directory(kernel) + "modules.dep", index_limit);
    return indexed_modules(index.value_or(std::string()));
}

bool is_file_of(const base::Root& root, const std::string& path, const LoadedModule& module) {
    auto fd = root.open_file(path, O_RDONLY);
    if (!fd)
        return false;
    const auto file = base::MappedFile::open(fd->get(), path);
    if (!file)
        return false;
    const auto info = parse_module_info(file->view(), path);
    return info && info->name == module.name && info->srcversion == module.srcversion;
}

} // namespace

std::vector<std::string> indexed_modules(std::string_view modules_dep) {
    std::vector<std::string> paths;
    for (const std::string& line : base::split(modules_dep, '\n'))
        if (const auto colon = line.find(':'); colon != std::string::npos)
            paths.push_back(line.substr(0, colon));
    return paths;
}

std::optional<std::string> find_module_file(const base::Root& root, std::string_view kernel,
                                            const LoadedModule& module) {
    const std::string directory = modules_directory(kernel);
    for (const std::string& path : all_modules(root, kernel))
        if (may_be(module_name(path), module.name) && is_file_of(root, directory + path, module))
            return directory + path;
    return std::nullopt;
}

bool can_load_again(const base::Root& root, std::string_view kernel, const LoadedModule& module) {
    const std::vector<std::string> paths = all_modules(root, kernel);
    return find_module_file(root, kernel, module) ||
           std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
               return module_name(path) == module.name && !base::ends_with(path, ".ko");
           });
}

} // namespace gpuhost::kmod
