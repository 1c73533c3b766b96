// SPDX-License-Identifier: Apache-2.0
// What is wrong on a host and what to do about it. Facts are gathered once (doctor_facts.cpp); a check is a pure function of
// them, in the file of its group: doctor_service, doctor_driver, doctor_boot, doctor_place, doctor_cluster.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/doctor/modprobe_rules.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"
#include "kmod/trust/secure_boot.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

enum class Health { Ok, Warning, Error, Skipped };
[[nodiscard]] std::string_view name(Health health) noexcept;

struct Diagnosis {
    Health health = Health::Ok;
    std::string text; ///< a sentence
    std::string next; ///< what to do; empty with nothing to do
};

/// An image that a kernel with a selection boots with, and that has a driver of a GPU in it.
struct ImageFacts {
    std::string path;
    std::vector<std::string> modules;
    std::string command; ///< that makes it anew
};

/// Of an installed kernel.
struct KernelFacts {
    std::string release;
    bool has_modules = false; ///< of the wanted version, in the store, which a swap would take
    bool has_headers = false; ///< to build them
    bool has_nouveau = false; ///< its module could be loaded
    std::vector<ImageFacts> images{};
};

struct CertificateFile {
    std::string path;
    std::uint64_t until = 0; ///< seconds since 1970; 0: can't be read
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of what they are about
struct DoctorFacts {
    bool is_host = true;        ///< false: a mounted system, on which nothing runs
    base::Json host;            ///< Manager.Describe's document; null where the daemon does not answer
    std::string silence;        ///< why it does not
    std::string client_version; ///< of this program
    base::Json operation;       ///< the newest, or null
    std::optional<std::vector<std::string>> failed_units; ///< of gpuhost*; nothing: systemd was not asked
    std::vector<std::string> masked_units;
    /// Units of workers that had processes before gpuhostd was asked and after; nothing: they can't be seen.
    std::optional<std::vector<std::string>> workers;

    std::string kernel; ///< that runs, or empty
    std::vector<kmod::PciGpu> gpus;
    std::vector<std::string> served;
    std::map<std::string, std::string>
        gpu_log; ///< by PCI address: the kernel's line on a GPU that is not served
    std::vector<kmod::LoadedModule> loaded;
    bool nouveau_loaded = false;
    kmod::DriverOwner owner = kmod::DriverOwner::Gpuhost;
    std::string configured; ///< version
    std::string current;    ///< kmod::current_userland()
    kmod::Store store;
    std::string enforcement;                      ///< of signatures, in words; empty: none
    std::optional<kmod::SetVerdict> selected_set; ///< what the kernel would say to it
    std::string signatures_unseen;                ///< why that is not known
    bool devices_complete = true;
    bool firmware_linked = true;            ///< of the selected version
    std::optional<std::uint64_t> xid_lines; ///< of this boot
    std::string xid_unseen;                 ///< why they are not known

    std::vector<KernelFacts> kernels;
    bool clear_initramfs = true;  ///< Initramfs=
    std::string initramfs_unseen; ///< why it is not known what is in one
    std::vector<ModprobeRule> rules;
    bool nouveau_on_command_line = false; ///< kept away by it
    std::vector<std::string> shadows;     ///< libraries of another version in the loader's directories

    std::optional<std::uint64_t> state_free; ///< bytes below /var/lib/gpuhost
    std::optional<std::uint64_t> boot_free;
    std::uint64_t now_us = 0;
    std::uint64_t newest_file_us = 0; ///< of those that a package or the daemon wrote
    base::Json cdi;                   ///< of cdi validate
    bool cdi_enabled = true;          ///< Enable= of [CDI]
    base::Json runtimes;              ///< of runtime verify, or an error's document

    std::optional<base::Error> trust_error; ///< for which no bundle is taken
    std::vector<CertificateFile> anchors;
    bool joined = false; ///< has a kubeconfig
    std::optional<CertificateFile> identity;
    base::Json cluster; ///< what gpuhost-cluster says of itself, or null
};

struct Check {
    std::string_view name;  ///< a word that stays
    std::string_view about; ///< a phrase
    Diagnosis (*look)(const DoctorFacts& facts);
    bool of_own_driver = false; ///< skipped for without_own_driver()
};
/// In the order in which they are shown.
[[nodiscard]] std::span<const Check> doctor_checks() noexcept;

/// org.gpuhost1(5) has the document.
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

// doctor_service.cpp
[[nodiscard]] Diagnosis check_daemon(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_version(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_units(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_operation(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_workers(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_settings(const DoctorFacts& facts);

// doctor_driver.cpp
/// Of Version=, or else selected for the kernel; empty: none.
[[nodiscard]] std::string wanted_version(const DoctorFacts& facts);
/// Why this host has no driver of gpuhostd's, and needs none; empty: it has one, or should have.
[[nodiscard]] std::string without_own_driver(const DoctorFacts& facts);
/// PCI addresses of the GPUs that the driver should serve and does not.
[[nodiscard]] std::vector<std::string> unserved_gpus(const DoctorFacts& facts);
/// Returns the line of a kernel log that tells why the GPU is not served: the newest of the driver's own (NVRM), or else the
/// newest that names both; empty without one.
[[nodiscard]] std::string log_line_on(std::string_view log, const std::string& address);
[[nodiscard]] Diagnosis check_gpus(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_driver(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_store(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_devices(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_firmware(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_xid(const DoctorFacts& facts);

// doctor_boot.cpp
[[nodiscard]] Diagnosis check_signatures(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_nouveau(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_initramfs(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_modprobe(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_kernels(const DoctorFacts& facts);

// doctor_place.cpp
[[nodiscard]] Diagnosis check_libraries(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_space(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_clock(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_cdi(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_runtimes(const DoctorFacts& facts);

// doctor_cluster.cpp
[[nodiscard]] Diagnosis check_trust(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_cluster(const DoctorFacts& facts);
[[nodiscard]] Diagnosis check_credentials(const DoctorFacts& facts);

} // namespace gpuhost::ctl
