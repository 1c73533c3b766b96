// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/model.hpp"

#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/progress.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cli/wrap.hpp"
#include "daemon/ctl/cluster/view.hpp"
#include "daemon/ctl/gpu/view.hpp"
#include "daemon/ctl/runtime/view_runtime_change.hpp"
#include "daemon/ctl/toolkit/view.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::ctl::dashboard {

using base::Json;

namespace {

constexpr std::size_t most_rows = 1000; ///< of a pane

std::vector<Row> rows_from(std::string_view text) {
    std::vector<Row> rows;
    for (Line& line : styled_lines(text))
        rows.push_back({std::move(line), {}});
    return rows;
}

void append(std::vector<Row>& rows, std::vector<Row> more) {
    std::move(more.begin(), more.end(), std::back_inserter(rows));
}

std::vector<Row> note(const Screen& screen, const std::string& text) {
    return rows_from(screen.paint(Style::Dim, screen.terminal ? wrap(text, screen.columns, 0, 0) : text));
}

/// Returns a screen on which each item has one line, however long.
Screen without_wrapping(Screen screen) {
    screen.terminal = false;
    return screen;
}

std::vector<Row> host_rows(const Documents& documents, const Screen& screen) {
    Facts facts;
    add_host_lines(facts, screen, documents.host);
    add_config_lines(facts, screen, documents.host);
    add_pending_lines(facts, screen, documents.host, verdict_of(documents));
    return rows_from(facts.render(screen));
}

Span server_of(const Json& gpu) {
    const std::string driver = text_of(gpu, "driver");
    if (driver.empty())
        return {"no driver", Style::Warn};
    return {driver, driver == "nvidia" ? Style::Good : Style::Plain};
}

std::vector<Row> gpu_rows(const Documents& documents, const Screen& screen) {
    const Json& gpus = list_of(observed(documents, "driver"), "gpus");
    std::size_t width = 0;
    for (const Json& gpu : gpus)
        width = std::max(width, text_width(server_of(gpu).text));
    std::vector<Row> rows;
    for (const Json& gpu : gpus) {
        const std::string address = text_of(gpu, "address");
        const Span server = server_of(gpu);
        const auto model = documents.models.find(address);
        const bool named = model != documents.models.end() && !model->second.empty();
        rows.push_back({{{address + "  "},
                         {pad_right(server.text, width), server.style},
                         {"  " + (named ? printable(model->second) : text_of(gpu, "device"))}},
                        {Item::Kind::Gpu, address}});
    }
    return rows.empty() ? note(screen, "none found") : rows;
}

std::vector<Row> driver_rows(const Documents& documents, const Screen& screen) {
    const Json& driver = observed(documents, "driver");
    const Json& versions = list_of(base::member(driver, "store"), "versions");
    const std::string loaded = text_of(driver, "loaded_version");
    Facts facts;
    add_driver_lines(facts, screen, driver);
    if (versions.empty())
        facts.add("Store", "empty");
    for (std::size_t i = 0; i < versions.size(); ++i) {
        const std::string version = text_of(versions[i], "version");
        facts.add(i == 0 ? "Store" : "",
                  screen.paint(version == loaded ? Style::Good : Style::Plain, version));
    }
    auto rows = rows_from(facts.render(screen));
    for (std::size_t i = 0; i < versions.size() && versions.size() <= rows.size(); ++i)
        rows[rows.size() - versions.size() + i].item = {Item::Kind::Driver, text_of(versions[i], "version")};
    return rows;
}

bool is_running(const Json& operation) {
    return operation.is_object() && number_of(operation, "ended_us") == 0;
}

std::string bar_line(const Json& operation) {
    const double fraction = progress_of(operation);
    return pad_left(std::to_string(static_cast<int>(fraction * 100)), 3) + "% " + bar(fraction);
}

/// Returns the running step, with what it does, and the later steps. The bar counts the earlier ones.
std::vector<Row> step_rows(const Json& operation, const Screen& screen) {
    auto rows = rows_from(render_steps(without_wrapping(screen), operation));
    const Json& steps = list_of(operation, "steps");
    const auto now = std::find_if(steps.begin(), steps.end(), [](const Json& step) {
        return text_of(step, "state") == "running" || text_of(step, "state") == "undoing";
    });
    if (now == steps.end())
        return rows;
    rows.erase(rows.begin(), rows.begin() + (now - steps.begin()));
    const std::string text = text_of(operation, "text");
    if (!text.empty() && text.find(text_of(*now, "summary")) == std::string::npos)
        rows.insert(rows.begin(), {{{text}}, {}});
    return rows;
}

/// Returns the only row of a pane that has no operation to show.
std::vector<Row> no_operation(const Documents& documents, const Screen& screen) {
    if (!documents.operations_problem.empty())
        return note(screen, "not known: " + printable(documents.operations_problem));
    return note(screen, documents.operations.empty() ? "No operation yet." : "not known");
}

std::vector<Row> operation_rows(const Documents& documents, const Screen& screen) {
    const Json& last = documents.last;
    if (!last.is_object())
        return no_operation(documents, screen);
    std::vector<Row> rows;
    if (is_running(last)) {
        rows = rows_from(std::to_string(number_of(last, "id")) + " " + text_of(last, "title") + "\n" +
                         bar_line(last) + "\n");
        append(rows, step_rows(last, screen));
    } else {
        Facts facts;
        add_last_lines(facts, screen, last, documents.now_us);
        rows = rows_from(facts.render(screen));
    }
    for (Row& row : rows)
        row.item = {Item::Kind::Operation, std::to_string(number_of(last, "id"))};
    return rows;
}

std::vector<Row> runtime_rows(const Documents& documents, const Screen& screen) {
    using Add = void (*)(Facts&, const Screen&, const Json&);
    using Part = std::pair<std::string_view, Add>;
    Facts facts;
    for (const auto& [component, add] :
         {Part{"runtime", add_runtime_lines}, Part{"toolkit", add_toolkit_lines}, Part{"cdi", add_cdi_lines},
          Part{"devices", add_devices_lines}})
        if (const Json& one = observed(documents, component); one.is_object())
            add(facts, screen, one);
    auto rows = rows_from(facts.render(screen));
    return rows.empty() ? note(screen, "none found") : rows;
}

std::vector<Row> image_rows(const Documents& documents, const Screen& screen) {
    const Json& images = observed(documents, "images");
    const Json& bundles = list_of(images, "bundles");
    auto rows = bundles.empty() ? note(screen, "No bundles.")
                                : rows_from(render_bundles(without_wrapping(screen), images));
    for (std::size_t i = 0; i < bundles.size() && i + 1 < rows.size(); ++i) // the first row is the header
        rows[i + 1].item = {Item::Kind::Bundle, text_of(bundles[i], "name")};
    Facts facts;
    add_image_lines(facts, screen, images);
    append(rows, rows_from(facts.render(screen)));
    return rows;
}

std::vector<Row> cluster_rows(const Documents& documents, const Screen& screen) {
    Facts facts;
    add_cluster_lines(facts, documents.host);
    auto rows = rows_from(facts.render(screen));
    append(rows, documents.cluster.is_object() ? rows_from(render_cluster(screen, documents.cluster))
                                               : note(screen, printable(documents.cluster_problem)));
    return rows;
}

std::vector<Row> operations_rows(const Documents& documents, const Screen& screen) {
    if (documents.operations.empty())
        return no_operation(documents, screen);
    Table table({{"ID", Table::Align::Right}, {"AGE", Table::Align::Right}, {"STATE"}, {"TITLE"}});
    std::vector<Item> items;
    const auto& all = documents.operations;
    for (auto it = all.rbegin(); it != all.rend() && items.size() < most_rows; ++it) {
        const std::uint64_t age = it->began_us < documents.now_us ? documents.now_us - it->began_us : 0;
        items.push_back({Item::Kind::Operation, std::to_string(it->id)});
        table.add({items.back().key,
                   short_span(age / 1'000'000),
                   {printable(it->state), style_of_state(it->state)},
                   printable(it->title)});
    }
    auto rows = rows_from(table.render(without_wrapping(screen)));
    for (std::size_t i = 0; i < items.size() && items.size() <= rows.size(); ++i)
        rows[rows.size() - items.size() + i].item = items[i]; // the header is before them
    return rows;
}

} // namespace

const Json& observed(const Documents& documents, std::string_view component) {
    return base::member(base::member(base::member(documents.host, "components"), component), "observed");
}

std::string_view title_of(Pane pane) {
    static constexpr std::array<std::string_view, pane_count> titles{
        "Host", "GPUs", "Driver", "Operation", "Runtimes", "Bundles and images", "Cluster", "Operations"};
    return titles.at(static_cast<std::size_t>(pane));
}

std::vector<Row> rows_of(Pane pane, const Documents& documents, const Screen& screen) {
    using Rows = std::vector<Row> (*)(const Documents&, const Screen&);
    static constexpr std::array<Rows, pane_count> functions{host_rows,      gpu_rows,       driver_rows,
                                                            operation_rows, runtime_rows,   image_rows,
                                                            cluster_rows,   operations_rows};
    if (pane != Pane::Cluster && !documents.host.is_object())
        return note(screen, "not known");
    auto rows = functions.at(static_cast<std::size_t>(pane))(documents, screen);
    rows.resize(std::min(rows.size(), most_rows));
    return rows;
}

Verdict verdict_of(const Documents& documents) {
    if (documents.problem)
        return {false, printable(documents.problem->message), printable(documents.problem->hint)};
    if (!documents.host.is_object())
        return {false, "waiting for the answer of gpuhostd", ""};
    return ctl::verdict_of(documents.host, documents.last);
}

std::vector<Line> verdict_lines(const Documents& documents, const Screen& screen) {
    return styled_lines(render_verdict(screen, verdict_of(documents)));
}

} // namespace gpuhost::ctl::dashboard
