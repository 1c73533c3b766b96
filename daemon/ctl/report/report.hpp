// SPDX-License-Identifier: Apache-2.0
// Collects the archive for support from a table of sources; each source is a file of the archive.
//
// A report contains only texts that are known not to be secret: gpuhost's own documents (every local user may
// read them), known keys of files, and the output of the kernel and of package managers. Commands, unknown
// keys and comments are left out. Messages of gpuhost's own programs pass redact().
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/client/client.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// Contents of /proc/driver/nvidia. The driver answers each read, and may hang.
struct DriverFiles {
    std::string text;
    std::string stuck; ///< the first file for which the driver did not answer in time; empty: none
};
/// Reads each file in a child process, because a read from a driver that hangs never returns.
[[nodiscard]] DriverFiles read_driver_files(const base::Root& root);

struct ReportInput {
    const base::Root& root;
    client::Client* client = nullptr; ///< null if the daemon does not answer, and on a mounted system
    std::string silence;              ///< why gpuhostd does not answer
    DriverFiles driver{};
};
/// Returns an error if the driver hangs. Sources that would read the driver's files themselves return this
/// error instead.
[[nodiscard]] std::optional<base::Error> hanging_driver(const ReportInput& input);

struct ReportSource {
    std::string_view name;  ///< file name in the archive
    std::string_view about; ///< what the file contains, as a phrase
    std::string (*read)(const ReportInput& input);
};
/// Returns the sources in the order of the archive.
[[nodiscard]] std::span<const ReportSource> report_sources() noexcept;

struct ReportFile {
    std::string name;
    std::string text;
};
/// Largest size of a file in bytes. A longer text keeps its end, which is the newest part of a log.
constexpr std::size_t report_limit = std::size_t{4} << 20U;
[[nodiscard]] std::vector<ReportFile> make_report(const ReportInput& input);

/// Returns the text of one of gpuhost's own documents, with redacted messages.
[[nodiscard]] std::string report_document(base::Json document);

// Defined in daemon.cpp:
[[nodiscard]] std::string report_status(const ReportInput& input);
[[nodiscard]] std::string report_plan(const ReportInput& input);
[[nodiscard]] std::string report_drivers(const ReportInput& input);
[[nodiscard]] std::string report_history(const ReportInput& input);
[[nodiscard]] std::string report_operations(const ReportInput& input);
[[nodiscard]] std::string report_doctor(const ReportInput& input);

// Defined in files.cpp:
[[nodiscard]] std::string report_config(const ReportInput& input);
[[nodiscard]] std::string report_config_file(const ReportInput& input);
[[nodiscard]] std::string report_runtimes(const ReportInput& input);
[[nodiscard]] std::string report_cdi(const ReportInput& input);
[[nodiscard]] std::string report_cluster(const ReportInput& input);
[[nodiscard]] std::string report_inventory(const ReportInput& input);
[[nodiscard]] std::string report_modules(const ReportInput& input);
[[nodiscard]] std::string report_os(const ReportInput& input);
[[nodiscard]] std::string report_packages(const ReportInput& input);

// Defined in driver.cpp:
[[nodiscard]] std::string report_driver_files(const ReportInput& input);

// Defined in system.cpp:
[[nodiscard]] std::string report_pci(const ReportInput& input);
[[nodiscard]] std::string report_units(const ReportInput& input);
[[nodiscard]] std::string report_journal(const ReportInput& input);
[[nodiscard]] std::string report_kernel_log(const ReportInput& input);

} // namespace gpuhost::ctl
