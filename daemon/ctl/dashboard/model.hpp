// SPDX-License-Identifier: Apache-2.0
// The content of the dashboard as lines of text. Pure functions of gpuhostd's documents (org.gpuhost1(5)).
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/client/client.hpp"
#include "daemon/ctl/dashboard/styled.hpp"
#include "daemon/ctl/host/verdict.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::ctl::dashboard {

/// All that the dashboard shows. Members are null or empty as long as they are not known.
struct Documents {
    std::string name;                                       ///< of this host
    base::Json host;                                        ///< Manager.Describe
    std::optional<base::Error> problem;                     ///< why `host` is missing
    std::vector<client::OperationRow> operations;           ///< oldest first
    base::Json last;                                        ///< the newest operation
    std::string operations_problem = "not read yet";        ///< why `operations` or `last` is missing
    base::Json opened;                                      ///< the operation that the user looks at
    base::Json cluster;                                     ///< the status of gpuhost-cluster
    std::string cluster_problem;                            ///< why `cluster` is missing
    std::map<std::string, std::string, std::less<>> models; ///< PCI address → name of the GPU
    std::uint64_t now_us = 0;                               ///< CLOCK_REALTIME
};

enum class Pane { Host, Gpus, Driver, Operation, Runtimes, Images, Cluster, Operations };
inline constexpr std::size_t pane_count = 8;
/// All panes, in the order in which Tab visits them.
inline constexpr std::array<Pane, pane_count> panes{Pane::Host,      Pane::Gpus,      Pane::Driver,
                                                    Pane::Operation, Pane::Runtimes,  Pane::Images,
                                                    Pane::Cluster,   Pane::Operations};

/// The thing that a line shows. Enter opens it.
struct Item {
    enum class Kind { None, Operation, Gpu, Bundle, Driver, Pane, Help };
    Kind kind = Kind::None;
    std::string key; ///< number of the operation, PCI address, name, version, index of the pane
    bool operator==(const Item&) const = default;
};

struct Row {
    Line line;
    Item item;
};

/// Returns what gpuhostd observed of a component ("driver"); null if it is not known.
[[nodiscard]] const base::Json& observed(const Documents& documents, std::string_view component);

[[nodiscard]] std::string_view title_of(Pane pane);
[[nodiscard]] std::vector<Row> rows_of(Pane pane, const Documents& documents, const Screen& screen);

/// Returns the verdict of 'status', or the reason why gpuhostd's state is not known.
[[nodiscard]] Verdict verdict_of(const Documents& documents);
[[nodiscard]] std::vector<Line> verdict_lines(const Documents& documents, const Screen& screen);

struct Detail {
    std::string title;
    std::vector<Line> lines;
};
/// Returns what Enter opens for an item, which may no longer exist.
[[nodiscard]] Detail detail_of(const Item& item, const Documents& documents, const Screen& screen);

} // namespace gpuhost::ctl::dashboard
