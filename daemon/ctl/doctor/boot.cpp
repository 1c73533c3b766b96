// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/doctor/doctor.hpp"
#include "kmod/load/autoload_block.hpp"
#include "kmod/module/headers.hpp"

#include <algorithm>

namespace gpuhost::ctl {

namespace {

/// Returns true for a file that gpuhost wrote: a file for the selected driver, or the file that blocks
/// autoload during a swap.
bool is_ours(const std::string& path) {
    return path.ends_with(kmod::autoload_block_file) ||
           base::starts_with(path.substr(path.rfind('/') + 1), "gpuhost");
}

bool is_blocked(const DoctorFacts& facts, std::string_view module) {
    return std::any_of(facts.rules.begin(), facts.rules.end(),
                       [&](const ModprobeRule& rule) { return rule.module == module; });
}

/// Returns `text`, which is about the first of `count` modules, and the number of the others. A problem of
/// one usually affects all.
std::string first_of(const std::string& text, std::size_t count) {
    return count == 1 ? text : text + " (and " + std::to_string(count - 1) + " more)";
}

/// Returns true if nouveau is the only GPU driver in the image. Such an image usually contains a blacklist
/// for nouveau, too.
bool is_nouveau_alone(const ImageFacts& image) {
    return std::all_of(image.modules.begin(), image.modules.end(),
                       [](const auto& path) { return path.find("/nouveau.ko") != std::string::npos; });
}

} // namespace

Diagnosis check_signatures(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    if (!facts.signatures_unseen.empty())
        return skipped("not known: " + facts.signatures_unseen);
    if (!facts.selected_set)
        return skipped(facts.store.selected.count(facts.kernel) == 0
                           ? "no driver is selected"
                           : "the selected modules are not in the store");
    const kmod::SetVerdict& set = *facts.selected_set;
    if (!set.problems.empty())
        return error(first_of(set.problems.front().text, set.problems.size()), set.problems.front().hint);
    if (!set.warnings.empty())
        return warning(first_of(set.warnings.front(), set.warnings.size()),
                       "as root: gpuhostctl secure-boot status");
    return well(facts.enforcement.empty()
                    ? "the kernel accepts modules without a signature"
                    : facts.enforcement + ", and the kernel accepts the selected modules");
}

Diagnosis check_nouveau(const DoctorFacts& facts) {
    if (facts.nouveau_loaded)
        return error("nouveau is loaded", way_to_driver(facts) + "; reboot if nouveau stays loaded");
    std::vector<std::string> kernels;
    for (const KernelFacts& kernel : facts.kernels)
        if (kernel.has_nouveau)
            kernels.push_back(kernel.release);
    if (kernels.empty() || facts.nouveau_on_command_line || is_blocked(facts, "nouveau"))
        return well("nouveau is not loaded, and would not be");
    return warning(
        "a boot of " + base::join(kernels, ", ") + " would load it",
        "gpuhostctl apply, which blocks it if a driver is selected; or blacklist it in /etc/modprobe.d");
}

Diagnosis check_initramfs(const DoctorFacts& facts) {
    if (facts.store.selected.empty())
        return skipped("no driver is selected");
    if (!facts.clear_initramfs)
        return skipped("Initramfs=ignore: initramfs images are not managed");
    std::vector<ImageFacts> images;
    for (const KernelFacts& kernel : facts.kernels)
        images.insert(images.end(), kernel.images.begin(), kernel.images.end());
    if (!images.empty()) {
        const auto found = std::find_if_not(images.begin(), images.end(), is_nouveau_alone);
        const ImageFacts& worst = found != images.end() ? *found : images.front();
        const std::string text = first_of("'" + worst.path + "' has '" + worst.modules.front() +
                                              "', which is loaded before the selected driver",
                                          images.size());
        const std::string next = "as root: " + worst.command;
        return found != images.end() ? error(text, next) : warning(text, next);
    }
    if (!facts.initramfs_unseen.empty())
        return skipped("not known: " + facts.initramfs_unseen);
    return well("no initramfs has a driver of a GPU");
}

Diagnosis check_modprobe(const DoctorFacts& facts) {
    for (const ModprobeRule& rule : facts.rules)
        if (rule.module != "nouveau" && !is_ours(rule.file))
            return error("'" + rule.file + "' has '" + rule.command + " " + rule.module + "'",
                         "Remove the rule, or the package that it belongs to.");
    return well("no rule of another program names NVIDIA's modules");
}

Diagnosis check_kernels(const DoctorFacts& facts) {
    std::vector<std::string> without;
    std::vector<std::string> to_build;
    std::string way; // for the running kernel, else for the first
    bool runs = false;
    const std::string version = wanted_version(facts);
    for (const KernelFacts& kernel : facts.kernels) {
        if (kernel.has_modules)
            continue;
        const bool is_running = kernel.release == facts.kernel;
        const bool lacks = !kernel.build_problems.empty();
        if (lacks && (without.empty() || is_running))
            way = kmod::ways_to_modules(kernel.build_problems,
                                        "gpuhostctl driver build " + version + " --kernel " + kernel.release,
                                        version, is_running);
        (lacks ? without : to_build).push_back(kernel.release);
        runs = runs || (lacks && is_running);
    }
    if (facts.kernels.empty() || facts.store.versions.empty())
        return skipped("no kernel found, or no driver in the store");
    if (version.empty())
        return skipped("no driver is configured or selected");
    if (!without.empty()) {
        const std::string text = "modules are missing and can't be built: " + base::join(without, ", ");
        return runs ? error(text, way) : warning(text, way);
    }
    if (!to_build.empty())
        return warning("modules have to be built for " + base::join(to_build, ", "),
                       "gpuhostctl driver build VERSION --kernel=" + to_build.front());
    return well("each kernel has modules");
}

} // namespace gpuhost::ctl
