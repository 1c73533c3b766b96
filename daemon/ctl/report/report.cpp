// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/report.hpp"

#include "daemon/base/json.hpp"
#include "daemon/ctl/report/redact.hpp"

#include <array>

namespace gpuhost::ctl {

std::span<const ReportSource> report_sources() noexcept {
    static constexpr std::array sources{
        ReportSource{"doctor.json", "the result of doctor", report_doctor},
        ReportSource{"status.json", "the status of the host", report_status},
        ReportSource{"plan.json", "the steps of apply", report_plan},
        ReportSource{"drivers.json", "the driver store", report_drivers},
        ReportSource{"history.json", "changes of the driver", report_history},
        ReportSource{"operations.json", "all operations that are kept, with their steps", report_operations},
        ReportSource{"config.txt", "gpuhostd's settings that differ from the default", report_config},
        ReportSource{"config-file.json", "what gpuhostd takes from the file that ConfigFile= names",
                     report_config_file},
        ReportSource{"runtimes.json", "container runtimes and their configuration", report_runtimes},
        ReportSource{"cdi.json", "devices for containers", report_cdi},
        ReportSource{"cluster.json", "the status of gpuhost-cluster", report_cluster},
        ReportSource{"inventory.json", "kernels, GPUs, bundles, as inventory export", report_inventory},
        ReportSource{"driver-files.txt", "/proc/driver/nvidia", report_driver_files},
        ReportSource{"modules.txt", "modules of the kernel, its parameters, modprobe's rules",
                     report_modules},
        ReportSource{"pci.txt", "NVIDIA's devices on PCI", report_pci},
        ReportSource{"os-release", "the distribution", report_os},
        ReportSource{"packages.txt", "versions of packages for GPUs and containers", report_packages},
        ReportSource{"units.txt", "gpuhost's units", report_units},
        ReportSource{"journal.txt", "log of gpuhost's units, of the last three days", report_journal},
        ReportSource{"kernel.txt", "lines of the kernel's log about GPUs, of this boot", report_kernel_log},
    };
    return sources;
}

std::vector<ReportFile> make_report(const ReportInput& input) {
    std::vector<ReportFile> files;
    for (const ReportSource& source : report_sources()) {
        std::string text = source.read(input);
        if (text.size() > report_limit) {
            const std::size_t cut = text.size() - report_limit;
            text = "[" + std::to_string(cut) + " bytes before this are left out]\n" + text.substr(cut);
        }
        files.push_back({std::string(source.name), std::move(text)});
    }
    return files;
}

std::string report_document(base::Json document) {
    return base::dump_pretty(redact_document(std::move(document))) + "\n";
}

} // namespace gpuhost::ctl
