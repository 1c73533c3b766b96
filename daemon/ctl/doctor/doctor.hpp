// SPDX-License-Identifier: Apache-2.0
// Finds problems of a host and suggests fixes. facts.cpp gathers the facts once. A check is a pure function
// of the facts, in the file of its group: service.cpp, driver.cpp, boot.cpp, place.cpp, cluster.cpp.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"
#include "daemon/ctl/doctor/modprobe_rules.hpp"
#include "daemon/runtime/toolkit/config.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"
#include "kmod/trust/secure_boot.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

enum class Health { Ok, Warning, Error, Skipped };
[[nodiscard]] std::string_view name(Health health) noexcept;

struct Diagnosis {
    Health health = Health::Ok;
    std::string text; ///< the finding, as a sentence
    std::string next; ///< what to do next; empty: nothing
};

/// A boot image that contains a GPU driver, and whose kernel has a driver that gpuhost selected.
struct ImageFacts {
    std::string path;
    std::vector<std::string> modules;
    std::string command; ///< rebuilds the image
};

/// An installed kernel.
struct KernelFacts {
    std::string release;
    bool has_modules = false; ///< the store has modules of wanted_version() that a swap would use
    std::vector<core::Problem> build_problems; ///< what a build of modules lacks
    bool has_nouveau = false;                  ///< a nouveau module that could be loaded is installed
    std::vector<ImageFacts> images{};
};

/// A certificate in a file.
struct CertificateFile {
    std::string path;
    std::uint64_t until = 0; ///< seconds since 1970; 0: the certificate can't be read
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): grouped by subject
struct DoctorFacts {
    bool is_host = true;        ///< false: a mounted system, whose services are not running
    base::Json host;            ///< Manager.Describe's document; null if the daemon does not answer
    std::string silence;        ///< why the daemon does not answer; empty if it does
    std::string client_version; ///< version of gpuhostctl
    base::Json operation;       ///< the newest operation, or null
    std::optional<std::vector<std::string>> failed_units; ///< gpuhost* units; nullopt: systemd was not asked
    std::vector<std::string> masked_units;
    /// Units of workers that had processes before and after gpuhostd was asked. nullopt: not visible on this
    /// host.
    std::optional<std::vector<std::string>> workers;

    std::string kernel; ///< release of the running kernel; empty if unknown
    std::vector<kmod::PciGpu> gpus;
    std::vector<std::string> served;
    /// PCI address of a GPU that is not served → the line of the kernel log about it.
    std::map<std::string, std::string> gpu_log;
    std::vector<kmod::LoadedModule> loaded;
    bool nouveau_loaded = false;
    kmod::DriverOwner owner = kmod::DriverOwner::Gpuhost;
    std::string configured;      ///< Version= in the configuration
    std::string flavour = "any"; ///< Flavour= in the configuration
    std::string current;         ///< kmod::current_userland(): target of the link to the current userland
    kmod::Store store;
    std::string enforcement; ///< how signatures are enforced, in words; empty: not enforced
    std::optional<kmod::SetVerdict> selected_set; ///< whether the kernel accepts the selected modules
    std::string signatures_unseen;                ///< why `selected_set` is unknown
    bool devices_complete = true;
    bool firmware_linked = true;            ///< the GSP firmware of the selected version is linked
    std::optional<std::uint64_t> xid_lines; ///< number of Xid lines in this boot
    std::set<std::uint64_t> xids;           ///< the numbers in these lines
    std::string xid_unseen;                 ///< why `xid_lines` is unknown

    std::vector<KernelFacts> kernels;
    bool clear_initramfs = true;  ///< value of Initramfs=
    std::string initramfs_unseen; ///< why the contents of an initramfs are unknown
    std::vector<ModprobeRule> rules;
    bool nouveau_on_command_line = false; ///< the kernel command line blocks nouveau
    std::vector<std::string> shadows;     ///< libraries of another driver version in the loader's directories

    std::optional<std::uint64_t> state_free; ///< free bytes below /var/lib/gpuhost
    std::optional<std::uint64_t> boot_free;
    std::uint64_t now_us = 0;
    std::uint64_t newest_file_us = 0; ///< newest mtime of files that a package or gpuhostd wrote
    base::Json cdi;                   ///< result of cdi validate
    bool cdi_enabled = true;          ///< value of Manage= in [CDI]
    base::Json runtimes;              ///< result of runtime verify, or an error's document
    std::vector<std::string> runtimes_without_nvidia; ///< runtimes of pods without NVIDIA's runtime
    /// Options of NVIDIA's runtime in the runtimes of pods: each file once.
    std::vector<runtime::AcceptedRequests> accepted_requests;
    std::string accepted_unseen; ///< why such options are unknown

    std::optional<base::Error> trust_error; ///< if set, every bundle is rejected
    std::vector<CertificateFile> anchors;
    bool joined = false; ///< this host is in a cluster: it has a kubeconfig
    std::optional<CertificateFile> identity;
    base::Json cluster; ///< status document of gpuhost-cluster, or null
};

/// A check of doctor.
struct Check {
    std::string_view name;  ///< stable identifier, which scripts may use
    std::string_view about; ///< what the check examines, as a phrase
    Diagnosis (*look)(const DoctorFacts& facts);
    bool of_own_driver = false; ///< skipped if without_own_driver() gives a reason
};
/// Returns all checks in display order.
[[nodiscard]] std::span<const Check> doctor_checks() noexcept;

/// Runs all checks. org.gpuhost1(5) describes the document.
[[nodiscard]] base::Json diagnose(const DoctorFacts& facts);

[[nodiscard]] inline Diagnosis well(std::string text) {
    return {Health::Ok, std::move(text), {}};
}
[[nodiscard]] inline Diagnosis warning(std::string text, std::string next) {
    return {Health::Warning, std::move(text), std::move(next)};
}
[[nodiscard]] inline Diagnosis error(std::string text, std::string next) {
    return {Health::Error, std::move(text), std::move(next)};
}
[[nodiscard]] inline Diagnosis skipped(std::string text) {
    return {Health::Skipped, std::move(text), {}};
}

// Defined in service.cpp:
[[nodiscard]] Diagnosis check_daemon(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_version(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_units(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_operation(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_workers(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_settings(const DoctorFacts& facts);

// Defined in driver.cpp:
/// Returns Version= or, if that is not set, the version selected for the kernel; empty: none.
[[nodiscard]] std::string wanted_version(const DoctorFacts& facts);
/// Returns why this host needs no driver from gpuhostd; empty if gpuhostd should provide one.
[[nodiscard]] std::string without_own_driver(const DoctorFacts& facts);
/// Returns what loads a driver: 'apply', or the hint of 'status' if no driver is chosen.
[[nodiscard]] std::string way_to_driver(const DoctorFacts& facts);
/// Returns the PCI addresses of GPUs that the driver should serve but does not serve.
[[nodiscard]] std::vector<std::string> unserved_gpus(const DoctorFacts& facts);
/// Returns the line of the kernel log that explains why the GPU is not served. Among the lines with its PCI
/// address, this is the newest with "NVRM", or else the newest with "nvidia"; empty if there is none.
[[nodiscard]] std::string log_line_on(std::string_view log, const std::string& address);
/// Returns the numbers of Xid errors in the kernel log: 79 of "NVRM: Xid (PCI:0000:65:00): 79, pid=…".
[[nodiscard]] std::set<std::uint64_t> xids_of(std::string_view log);
[[nodiscard]] Diagnosis check_gpus(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_driver(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_store(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_devices(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_firmware(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_xid(const DoctorFacts& facts);

// Defined in boot.cpp:
[[nodiscard]] Diagnosis check_signatures(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_nouveau(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_initramfs(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_modprobe(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_kernels(const DoctorFacts& facts);

// Defined in place.cpp:
[[nodiscard]] Diagnosis check_libraries(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_space(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_clock(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_cdi(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_kubelet(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_health(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_runtimes(const DoctorFacts& facts);

// Defined in cluster.cpp:
[[nodiscard]] Diagnosis check_trust(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_cluster(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_credentials(const DoctorFacts& facts);

} // namespace gpuhost::ctl
