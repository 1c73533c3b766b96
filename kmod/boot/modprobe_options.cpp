// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/modprobe_options.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/module/kernel_state.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <vector>

#include <libkmod.h>

namespace gpuhost::kmod {
namespace {

using ContextPtr = base::CHandle<kmod_ctx, ::kmod_unref>;
using IteratorPtr = base::CHandle<kmod_config_iter, ::kmod_config_iter_free_iter>;

// Discards libkmod's messages about errors in the configuration, which modprobe reports too. Such errors are
// not a reason to refuse a driver.
void discard_log(void* /*data*/, int /*priority*/, const char* /*file*/, int /*line*/, const char* /*fn*/,
                 const char* /*format*/, va_list /*args*/) {}

/// Reads the configuration from the same directories as modprobe, in the same order: a file hides files of
/// the same name in later directories.
ContextPtr read_configuration(const base::Root& root) {
    std::vector<std::string> directories;
    for (const char* directory : {"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                                  "/usr/lib/modprobe.d", "/lib/modprobe.d"})
        directories.push_back(root.host_path(directory));
    std::vector<const char*> paths;
    for (const std::string& directory : directories)
        paths.push_back(directory.c_str());
    paths.push_back(nullptr);
    ContextPtr context(::kmod_new(root.host_path("/lib/modules").c_str(), paths.data()));
    if (context)
        ::kmod_set_log_fn(context.get(), discard_log, nullptr);
    return context;
}

} // namespace

std::map<std::string, std::string> options_of_others(const base::Root& root) {
    std::map<std::string, std::string> options;
    const auto own = parse_modprobe_options(root.read(options_file).value_or(std::string()));
    const ContextPtr context = read_configuration(root);
    const IteratorPtr iterator(context ? ::kmod_config_get_options(context.get()) : nullptr);
    while (iterator && ::kmod_config_iter_next(iterator.get())) {
        const std::string module = module_name(::kmod_config_iter_get_key(iterator.get()));
        const char* const value = ::kmod_config_iter_get_value(iterator.get());
        const std::string text = base::join(base::split_words(value != nullptr ? value : ""), " ");
        if (const auto ours = own.find(module); text.empty() || (ours != own.end() && ours->second == text))
            continue;
        std::string& all = options[module];
        all += (all.empty() ? "" : " ") + text;
    }
    return options;
}

} // namespace gpuhost::kmod
