// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/facts.hpp"

#include "config.h"
#include "daemon/base/clock.hpp"
#include "daemon/base/kernels.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/content/crypto/client_certificate.hpp"
#include "daemon/ctl/runtime/wanted.hpp"
#include "daemon/runtime/cdi/spec_documents.hpp"
#include "daemon/runtime/configure/plan.hpp"
#include "daemon/runtime/inspect/state.hpp"
#include "images/bundle/trust.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/device/devices.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/store/flavour_choice.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace gpuhost::ctl {

using base::Root;

namespace {

/// Adds the options of a runtime of NVIDIA's.
void add_accepted(DoctorFacts& facts, const Root& root, const std::string& binary) {
    auto accepted = runtime::accepted_requests(root, binary);
    if (!accepted)
        facts.accepted_unseen = accepted.error().message;
    else if (std::find(facts.accepted_requests.begin(), facts.accepted_requests.end(), *accepted) ==
             facts.accepted_requests.end())
        facts.accepted_requests.push_back(*std::move(accepted));
}

/// Adds the runtimes of pods that have no handler of NVIDIA's toolkit, and the options of those handlers.
void add_nvidia(DoctorFacts& facts, const Root& root) {
    for (const runtime::RuntimeState& state : runtime::read_runtimes(root)) {
        const runtime::RuntimeConfig& config = state.config;
        const bool is_known = std::all_of(state.files.begin(), state.files.end(),
                                          [](const auto& file) { return file.problem.empty(); });
        if (!is_known || !config.serves_cri || state.instance.name == "docker-containerd")
            continue;
        bool has_nvidia = false;
        for (const auto& handler : config.handlers)
            if (handler.binary.find("nvidia-container-runtime") != std::string::npos) {
                has_nvidia = true;
                add_accepted(facts, root, handler.binary);
            }
        if (!has_nvidia)
            facts.runtimes_without_nvidia.push_back(state.instance.name);
    }
}

bool has_nouveau(const Root& root, const std::string& kernel) {
    const std::string file = "/lib/modules/" + kernel + "/kernel/drivers/gpu/drm/nouveau/nouveau.ko";
    constexpr std::array packings{"", ".xz", ".zst", ".gz"};
    return std::any_of(packings.begin(), packings.end(),
                       [&](const char* packing) { return root.exists(file + packing); });
}

void add_kernels(DoctorFacts& facts, const Root& root, const std::string& flavour) {
    const std::string wanted = wanted_version(facts);
    const auto system = Root::open("/"); // a build runs the programs of this system
    for (const std::string& kernel : base::installed_kernels(root))
        facts.kernels.push_back(
            {kernel, kmod::modules_to_use(facts.store, wanted, kernel, flavour, facts.gpus) != nullptr,
             kmod::build_problems(root, kernel, system ? *system : root), has_nouveau(root, kernel)});
}

/// Adds the boot images of a kernel that contain a GPU driver. Skips images in which a worker has found none.
void add_images(DoctorFacts& facts, KernelFacts& kernel, const Root& root) {
    for (const kmod::BootImage& image : kmod::boot_images_of(root, kernel.release)) {
        if (kmod::is_known_clean(root, kernel.release, image.path))
            continue;
        const auto fd = root.open_file(image.path, O_RDONLY);
        auto found = fd ? kmod::gpu_modules_of(image, fd->get(), kernel.release) : base::fail(fd.error());
        if (!found)
            facts.initramfs_unseen = found.error().message;
        else if (!found->empty())
            kernel.images.push_back(
                {image.path, *std::move(found), kmod::command_to_make(root, image, kernel.release)});
    }
}

void add_initramfs(DoctorFacts& facts, const Root& root) {
    if (!facts.clear_initramfs)
        return;
    for (const std::string& directory : kmod::boot_directories(root))
        if (const auto names = root.list(directory); !names)
            facts.initramfs_unseen = names.error().message;
    for (KernelFacts& kernel : facts.kernels)
        if (facts.store.selected.contains(kernel.release))
            add_images(facts, kernel, root);
}

/// Adds the rules of modprobe.d(5). A file hides files of the same name in later directories.
void add_rules(DoctorFacts& facts, const Root& root) {
    std::set<std::string> seen;
    for (const std::string directory : {"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                                        "/usr/lib/modprobe.d", "/lib/modprobe.d"})
        for (const std::string& file : root.list(directory).value_or(std::vector<std::string>())) {
            if (!base::ends_with(file, ".conf") || !seen.insert(file).second)
                continue;
            const std::string path = directory + "/" + file;
            const auto rules = modprobe_rules(root.read(path).value_or(""), path);
            facts.rules.insert(facts.rules.end(), rules.begin(), rules.end());
        }
}

/// Adds NVIDIA's libraries that another package installed. gpuhost's libraries are below /var/lib/gpuhost, so
/// a regular file elsewhere is not gpuhost's.
void add_shadows(DoctorFacts& facts, const Root& root, const std::string& version) {
    constexpr std::array names{"libcuda.so.", "libnvidia-ml.so."};
    for (const std::string directory : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64", "/usr/lib", "/usr/local/lib"})
        for (const std::string& file : root.list(directory).value_or(std::vector<std::string>()))
            for (const std::string name : names) {
                const std::string path = directory + "/" + file;
                const std::string its = base::starts_with(file, name) ? file.substr(name.size()) : "";
                if (!base::is_driver_version(its) || its == version)
                    continue;
                if (const auto found = root.lstat(path); found && S_ISREG(found->st_mode))
                    facts.shadows.push_back(path);
            }
}

void add_selected(DoctorFacts& facts, const Root& root) {
    const kmod::Selection* const selection = facts.store.selection_of(facts.kernel);
    if (selection == nullptr)
        return;
    const std::string& version = selection->generation.version;
    add_shadows(facts, root, version);
    facts.firmware_linked = root.stat("/lib/firmware/nvidia/" + version).has_value();
}

void add_signatures(DoctorFacts& facts, const Root& root, const kmod::DriverSettings& settings) {
    auto boot = kmod::read_secure_boot(root, settings);
    if (!boot) {
        facts.signatures_unseen = boot.error().message;
        return;
    }
    facts.enforcement = boot->rules.enforcement;
    for (kmod::SetVerdict& set : boot->sets)
        if (set.selected)
            facts.selected_set = std::move(set);
}

void add_driver(DoctorFacts& facts, const Root& root) {
    const auto settings =
        kmod::driver_settings(core::load_settings(root, {kmod::driver_setting_keys()}).settings);
    facts.kernel = kmod::kernel_release(root).value_or("");
    if (auto store = kmod::read_store(root))
        facts.store = *std::move(store);
    else
        facts.store.problems.push_back(store.error().message);
    if (facts.kernel.empty() && !facts.store.selected.empty())
        facts.kernel = facts.store.selected.rbegin()->first;        // on a mounted system no kernel runs
    std::erase_if(facts.store.selected, [&](const auto& selected) { // the same filter as gpuhostd's
        return selected.first != facts.kernel && !base::kernel_is_installed(root, selected.first);
    });
    facts.owner = settings.owner;
    facts.configured = settings.version;
    facts.flavour = settings.flavour;
    facts.current = kmod::current_userland(root);
    facts.gpus = kmod::nvidia_gpus(root);
    facts.served = kmod::served_gpus(root);
    facts.loaded = kmod::loaded_driver(root);
    facts.nouveau_loaded = kmod::loaded_module(root, "nouveau").has_value();
    facts.devices_complete = kmod::devices_complete(root);
    facts.nouveau_on_command_line = command_line_blocks_nouveau(root.read_line("/proc/cmdline").value_or(""));
    facts.clear_initramfs = settings.clear_initramfs;
    add_kernels(facts, root, settings.flavour);
    add_initramfs(facts, root);
    add_rules(facts, root);
    add_selected(facts, root);
    add_signatures(facts, root, settings);
}

void add_place(DoctorFacts& facts, const Root& root) {
    if (const auto left = root.free_bytes("/var/lib/gpuhost"))
        facts.state_free = *left;
    if (const auto left = root.free_bytes("/boot"))
        facts.boot_free = *left;
    facts.now_us = base::realtime_us();
    for (const char* path :
         {"/usr/lib/os-release", "/etc/machine-id", "/var/lib/gpuhost", "/var/lib/dpkg/status"})
        if (const auto found = root.stat(path))
            facts.newest_file_us = std::max(facts.newest_file_us, base::modified_us(*found));
    facts.cdi = runtime::check_files(runtime::read_spec_files(root));
    const core::Settings wanted = wanted_of_runtimes(root);
    facts.cdi_enabled = runtime::cdi_settings(wanted).enable;
    const auto runtimes = runtime::verify_runtimes(root, wanted, {});
    facts.runtimes = runtimes ? *runtimes : base::to_json(runtimes.error());
    add_nvidia(facts, root);
}

/// Adds each certificate of a PEM file.
void add_certificates(std::vector<CertificateFile>& certificates, const Root& root, const std::string& path) {
    constexpr std::string_view begin = "-----BEGIN CERTIFICATE-----";
    const std::string text = root.read(path).value_or("");
    for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
        const auto read = content::read_certificate(std::string_view(text).substr(at), path);
        certificates.push_back({path, read ? read->until : 0});
    }
}

/// Adds the authorities that may sign bundles. The error is about all files; the certificates have the expiry
/// dates.
void add_trust(DoctorFacts& facts, const Root& root) {
    if (const auto trust = images::load_trust(root); !trust)
        facts.trust_error = trust.error();
    for (const std::string& file : root.list(images::trust_directory).value_or(std::vector<std::string>()))
        if (file.front() != '.' && (base::ends_with(file, ".pem") || base::ends_with(file, ".crt")))
            add_certificates(facts.anchors, root, std::string(images::trust_directory) + "/" + file);
}

void add_cluster(DoctorFacts& facts, const Root& root) {
    for (const char* path :
         {cluster::given_kubeconfig, cluster::own_kubeconfig, cluster::bootstrap_kubeconfig})
        facts.joined = facts.joined || root.exists(path);
    std::vector<CertificateFile> own;
    add_certificates(own, root, cluster::own_identity);
    if (!own.empty())
        facts.identity = own.front();
    if (const auto text = root.read(cluster::status_file))
        facts.cluster = base::parse_json(*text, "the status of gpuhost-cluster").value_or(base::Json());
}

} // namespace

DoctorFacts read_doctor_facts(const Root& root) {
    DoctorFacts facts;
    facts.is_host = root.is_host();
    facts.client_version = PACKAGE_VERSION;
    add_driver(facts, root);
    add_place(facts, root);
    add_trust(facts, root);
    add_cluster(facts, root);
    return facts;
}

} // namespace gpuhost::ctl
