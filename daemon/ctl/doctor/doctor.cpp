// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/doctor.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Json;

std::string_view name(Health health) noexcept {
    switch (health) {
    case Health::Ok:
        return "ok";
    case Health::Warning:
        return "warning";
    case Health::Error:
        return "error";
    case Health::Skipped:
        return "skipped";
    }
    return "error";
}

std::span<const Check> doctor_checks() noexcept {
    static constexpr std::array checks{
        Check{"daemon", "gpuhostd answers", check_daemon},
        Check{"version", "gpuhostd and gpuhostctl are of one version", check_version},
        Check{"units", "no unit of gpuhost failed or is masked", check_units},
        Check{"operation", "no operation is pending, failed or waits for a reboot", check_operation},
        Check{"workers", "no worker outlives its operation", check_workers},
        Check{"settings", "all lines of the settings' files are valid", check_settings},
        Check{"gpus", "the driver serves each NVIDIA GPU on PCI", check_gpus},
        Check{"driver", "the loaded driver is the selected and the configured one", check_driver},
        Check{"store", "the driver store can be read", check_store},
        Check{"signatures", "the kernel accepts the selected modules", check_signatures},
        Check{"devices", "the driver's device nodes exist", check_devices, true},
        Check{"firmware", "GSP firmware of the selected driver is installed", check_firmware, true},
        Check{"xid", "the driver reported no error of a GPU in this boot", check_xid},
        Check{"nouveau", "nouveau is not loaded, and will not be", check_nouveau, true},
        Check{"initramfs", "no kernel boots with another driver in its initramfs", check_initramfs, true},
        Check{"modprobe", "no rule of another program blocks NVIDIA's modules", check_modprobe, true},
        Check{"kernels", "each installed kernel has modules, or headers to build them", check_kernels, true},
        Check{"libraries", "programs find no library of another driver", check_libraries, true},
        Check{"space", "enough disk space is free", check_space},
        Check{"clock", "the clock is not earlier than this host's files", check_clock},
        Check{"cdi", "CDI's files match the loaded driver", check_cdi},
        Check{"kubelet", "the kubelet gets the GPUs", check_kubelet},
        Check{"health", "the GPUs of the kubelet are healthy", check_health},
        Check{"runtimes", "container runtimes are configured as intended", check_runtimes},
        Check{"trust", "authorities for bundles are valid", check_trust},
        Check{"cluster", "gpuhost-cluster is connected to the API server", check_cluster},
        Check{"credentials", "this host's certificate for the cluster is valid", check_credentials},
    };
    return checks;
}

Json diagnose(const DoctorFacts& facts) {
    Json checks = Json::array();
    Health worst = Health::Ok;
    const std::string without = without_own_driver(facts);
    for (const Check& check : doctor_checks()) {
        const Diagnosis found =
            check.of_own_driver && !without.empty() ? skipped(without) : check.look(facts);
        if (found.health != Health::Skipped && found.health > worst)
            worst = found.health;
        checks.push_back({{"check", check.name},
                          {"about", check.about},
                          {"result", name(found.health)},
                          {"text", found.text},
                          {"next", found.next}});
    }
    return {{"result", name(worst)}, {"checks", std::move(checks)}};
}

} // namespace gpuhost::ctl
