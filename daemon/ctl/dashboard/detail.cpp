// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/dashboard/model.hpp"

#include <algorithm>

namespace gpuhost::ctl::dashboard {

using base::Json;

namespace {

constexpr const char* help = "Tab, Shift-Tab, ← →   next pane, previous pane\n"
                             "↑ ↓, k j              previous line, next line\n"
                             "PgUp PgDn, Home End   one page up or down, first line, last line\n"
                             "Enter                 open the selected operation, GPU, driver or bundle,\n"
                             "                      else the whole pane\n"
                             "Esc, q                back\n"
                             "r                     read everything again\n"
                             "?                     this help\n"
                             "q                     quit\n"
                             "\n"
                             "The dashboard changes nothing on this host. It shows changes of gpuhostd at\n"
                             "once. It updates ages and the state of the cluster every 5 seconds.\n"
                             "The manual page: man gpuhostctl-dashboard\n";

/// Returns the element of a list whose member `key` has this text; null if there is none.
const Json& found(const Json& list, std::string_view key, std::string_view text) {
    static const Json none;
    const auto it =
        std::find_if(list.begin(), list.end(), [&](const Json& one) { return text_of(one, key) == text; });
    return it == list.end() ? none : *it;
}

void add_some(Facts& facts, const std::string& label, const std::string& value) {
    if (!value.empty())
        facts.add(label, value);
}

void add_time(Facts& facts, const std::string& label, std::uint64_t seconds) {
    if (seconds != 0)
        facts.add(label, base::utc_text(seconds));
}

std::string operation_text(const std::string& id, const Documents& documents, const Screen& screen) {
    for (const Json* const operation : {&documents.last, &documents.opened})
        if (operation->is_object() && std::to_string(number_of(*operation, "id")) == id)
            return render_operation(screen, *operation, documents.now_us);
    return "";
}

std::string gpu_text(const std::string& address, const Documents& documents, const Screen& screen) {
    const Json& driver = observed(documents, "driver");
    const Json& gpu = found(list_of(driver, "gpus"), "address", address);
    if (!gpu.is_object())
        return "";
    const std::string served = text_of(gpu, "driver");
    const auto model = documents.models.find(address);
    Facts facts;
    facts.add("GPU", address);
    add_some(facts, "Model", model == documents.models.end() ? "" : printable(model->second));
    facts.add("Device", text_of(gpu, "device"));
    facts.add("Driver", served == "nvidia"
                            ? screen.paint(Style::Good, served) + " " + text_of(driver, "loaded_version")
                        : served.empty() ? screen.paint(Style::Warn, "none") + " (why: gpuhostctl doctor)"
                                         : served);
    return facts.render(screen);
}

std::string bundle_text(const std::string& name, const Documents& documents, const Screen& screen) {
    const Json& bundle = found(list_of(observed(documents, "images"), "bundles"), "name", name);
    if (!bundle.is_object())
        return "";
    const Json& signer = base::member(bundle, "signer");
    Facts facts;
    facts.add("Bundle",
              text_of(bundle, "name") + ", generation " + std::to_string(number_of(bundle, "generation")));
    add_some(facts, "Problem", screen.paint(Style::Bad, text_of(bundle, "problem")));
    add_time(facts, "Created", number_of(bundle, "created"));
    add_time(facts, "Imported", number_of(bundle, "imported"));
    if (base::bool_or(bundle, "unsigned", false))
        facts.add("Signer", screen.paint(Style::Bad, "unsigned"));
    add_some(facts, "Signer", text_of(signer, "subject"));
    add_time(facts, "Valid until", number_of(signer, "not_after"));
    facts.add("Content", plural(number_of(bundle, "images"), "image", "images") + ", " +
                             plural(number_of(bundle, "blobs"), "blob", "blobs") + ", " +
                             human_bytes(number_of(bundle, "bytes")));
    add_some(facts, "Registries", printable(base::join(base::strings_or_empty(bundle, "registries"), " ")));
    for (const Json& packages : list_of(bundle, "packages"))
        facts.add("Packages", text_of(packages, "distribution") + ", " +
                                  plural(number_of(packages, "files"), "file", "files"));
    for (const Json& files : list_of(bundle, "files"))
        facts.add("Files", text_of(files, "name") + ", " +
                               plural(number_of(files, "files"), "file", "files") + " in " +
                               text_of(files, "directory"));
    add_some(facts, "Manifest", text_of(bundle, "manifest"));
    return facts.render(screen);
}

std::string driver_text(const std::string& version, const Documents& documents, const Screen& screen) {
    const Json& driver = observed(documents, "driver");
    Json list = base::member(driver, "store");
    const Json one = found(list_of(list, "versions"), "version", version);
    if (!one.is_object())
        return "";
    list["kernel"] = base::member(driver, "kernel"); // as in the document of Driver.List
    return render_driver(screen, list, one, text_of(driver, "loaded_version"));
}

std::string content_of(const Item& item, const Documents& documents, const Screen& screen) {
    switch (item.kind) {
    case Item::Kind::Operation:
        return operation_text(item.key, documents, screen);
    case Item::Kind::Gpu:
        return gpu_text(item.key, documents, screen);
    case Item::Kind::Bundle:
        return bundle_text(item.key, documents, screen);
    case Item::Kind::Driver:
        return driver_text(item.key, documents, screen);
    default:
        return help;
    }
}

std::string name_of(const Item& item) {
    switch (item.kind) {
    case Item::Kind::Operation:
        return "Operation " + item.key;
    case Item::Kind::Gpu:
        return "GPU " + item.key;
    case Item::Kind::Bundle:
        return "Bundle " + item.key;
    case Item::Kind::Driver:
        return "Driver " + item.key;
    default:
        return "Keys";
    }
}

} // namespace

Detail detail_of(const Item& item, const Documents& documents, const Screen& screen) {
    if (item.kind == Item::Kind::Pane) {
        const Pane pane = panes.at(std::min(base::parse_uint(item.key).value_or(0), pane_count - 1));
        Detail detail{std::string(title_of(pane)), {}};
        for (Row& row : rows_of(pane, documents, screen))
            detail.lines.push_back(std::move(row.line));
        return detail;
    }
    const std::string text = content_of(item, documents, screen);
    return {name_of(item),
            text.empty() ? std::vector<Line>{{{"not known", Style::Dim}}} : styled_lines(text)};
}

} // namespace gpuhost::ctl::dashboard
