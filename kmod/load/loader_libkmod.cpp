// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/handle.hpp"
#include "kmod/load/console.hpp"
#include "kmod/load/loader.hpp"
#include "kmod/module/kernel_state.hpp"

#include <cerrno>
#include <cstdarg>

#include <libkmod.h>

namespace gpuhost::kmod {
namespace {

using ContextPtr = base::CHandle<kmod_ctx, ::kmod_unref>;
using ModulePtr = base::CHandle<kmod_module, ::kmod_module_unref>;

// Discards libkmod's messages on stderr, because callers report each error.
void discard_log(void* /*data*/, int /*priority*/, const char* /*file*/, int /*line*/, const char* /*fn*/,
                 const char* /*format*/, va_list /*args*/) {}

int refuse_install_command(kmod_module* /*module*/, const char* /*command*/, void* /*data*/) {
    return -EPERM;
}

class LibkmodLoader final : public ModuleLoader {
  public:
    explicit LibkmodLoader(const base::Root& root) : root_(root) {
        const char* const no_configuration = nullptr;
        const std::string release = kernel_release(root).value_or(std::string());
        const std::string directory = root.host_path("/lib/modules/" + release);
        context_.reset(::kmod_new(release.empty() ? nullptr : directory.c_str(), &no_configuration));
        if (!context_)
            return;
        ::kmod_set_log_fn(context_.get(), discard_log, nullptr);
        (void)::kmod_load_resources(context_.get()); // optional: makes lookups faster
    }

    int load(const std::string& path, const std::string& parameters) override {
        ModulePtr module;
        if (const int error = find(module, path, ::kmod_module_new_from_path); error != 0)
            return error;
        return -::kmod_module_insert_module(module.get(), 0, parameters.c_str());
    }

    int load_by_name(const std::string& name, const std::string& parameters) override {
        ModulePtr module;
        if (const int error = find(module, name, ::kmod_module_new_from_name); error != 0)
            return error;
        const int result =
            ::kmod_module_probe_insert_module(module.get(), KMOD_PROBE_IGNORE_COMMAND, parameters.c_str(),
                                              refuse_install_command, nullptr, nullptr);
        // A positive result means that a blacklist applied, which is impossible without a configuration.
        return result > 0 ? EPERM : -result;
    }

    int unload(const std::string& name) override {
        ModulePtr module;
        if (const int error = find(module, name, ::kmod_module_new_from_name); error != 0)
            return error;
        return -::kmod_module_remove_module(module.get(), 0);
    }

    int bind_console(const std::string& name, bool bound) override {
        return kmod::bind_console(root_, name, bound);
    }

  private:
    template <class New>
    int find(ModulePtr& module, const std::string& what, New make) {
        if (!context_)
            return ENOMEM;
        const std::string argument = what.front() == '/' ? root_.host_path(what) : what;
        return -make(context_.get(), argument.c_str(), base::OutPtr(module));
    }

    const base::Root& root_;
    ContextPtr context_;
};

} // namespace

std::unique_ptr<ModuleLoader> make_module_loader(const base::Root& root) {
    return std::make_unique<LibkmodLoader>(root);
}

} // namespace gpuhost::kmod
