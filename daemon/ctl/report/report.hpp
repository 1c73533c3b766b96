// SPDX-License-Identifier: Apache-2.0
// What support is sent of a host: sources in a table, each a file of an archive. make_report() masks what is secret in texts,
// report_document() in JSON, which is to stay that.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/client/client.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// /proc/driver/nvidia, which the driver itself answers for.
struct DriverFiles {
    std::string text;
    std::string stuck; ///< the first file that it did not answer for in time, or empty
};
/// Each file in a process of its own: a driver that hangs never lets go of who reads it.
[[nodiscard]] DriverFiles read_driver_files(const base::Root& root);

struct ReportInput {
    const base::Root& root;
    Client* client = nullptr; ///< nothing where the daemon does not answer, and on a mounted system
    std::string silence;      ///< why it does not
    DriverFiles driver{};
};
/// What reads the driver's files itself says this where it would hang.
[[nodiscard]] std::optional<base::Error> hanging_driver(const ReportInput& input);

struct ReportSource {
    std::string_view name;  ///< of the file
    std::string_view about; ///< a phrase
    std::string (*read)(const ReportInput& input);
};
/// In the order in which they stand in the archive.
[[nodiscard]] std::span<const ReportSource> report_sources() noexcept;

struct ReportFile {
    std::string name;
    std::string text;
};
/// Of each its end, that is what came last in a log.
constexpr std::size_t report_limit = std::size_t{4} << 20U;
[[nodiscard]] std::vector<ReportFile> make_report(const ReportInput& input);

[[nodiscard]] std::string report_document(const base::Json& document);

// report_daemon.cpp
[[nodiscard]] std::string report_status(const ReportInput& input);
[[nodiscard]] std::string report_plan(const ReportInput& input);
[[nodiscard]] std::string report_drivers(const ReportInput& input);
[[nodiscard]] std::string report_history(const ReportInput& input);
[[nodiscard]] std::string report_operations(const ReportInput& input);
[[nodiscard]] std::string report_doctor(const ReportInput& input);

// report_files.cpp
[[nodiscard]] std::string report_config(const ReportInput& input);
[[nodiscard]] std::string report_runtimes(const ReportInput& input);
[[nodiscard]] std::string report_cdi(const ReportInput& input);
[[nodiscard]] std::string report_cluster(const ReportInput& input);
[[nodiscard]] std::string report_inventory(const ReportInput& input);
[[nodiscard]] std::string report_modules(const ReportInput& input);
[[nodiscard]] std::string report_os(const ReportInput& input);
[[nodiscard]] std::string report_packages(const ReportInput& input);

// report_driver.cpp
[[nodiscard]] std::string report_driver_files(const ReportInput& input);

// report_system.cpp
[[nodiscard]] std::string report_pci(const ReportInput& input);
[[nodiscard]] std::string report_units(const ReportInput& input);
[[nodiscard]] std::string report_journal(const ReportInput& input);
[[nodiscard]] std::string report_kernel_log(const ReportInput& input);

} // namespace gpuhost::ctl
