// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"

namespace gpuhost::ctl {

namespace {

/// A number of files and their bytes.
struct Sum {
    std::size_t files = 0;
    std::uint64_t bytes = 0;

    void add(const CollectedItem& item) {
        ++files;
        bytes += item.size;
    }
    [[nodiscard]] std::string text(std::string_view one, std::string_view many) const {
        return plural(files, one, many) + ", " + human_bytes(bytes);
    }
};

template <class Condition>
Sum sum_of(const Collection& collection, Condition matches) {
    Sum sum;
    for (const CollectedItem& item : collection.items)
        if (matches(item))
            sum.add(item);
    return sum;
}

void add_content(Facts& facts, const Collection& collection, const CollectRequest& request) {
    for (const std::string& version : request.drivers)
        if (const Sum sum = sum_of(collection, [&](const auto& item) { return item.driver == version; });
            sum.files != 0)
            facts.add("Driver", version + ", " + sum.text("file", "files"));
    if (const Sum sum = sum_of(collection, [](const auto& item) { return item.kind == "package"; });
        sum.files != 0)
        facts.add("Packages", std::string(request.distribution->name) + ", " + sum.text("file", "files"));
    if (!collection.on_every_host.empty())
        facts.add("Left out", plural(collection.on_every_host.size(), "package", "packages") +
                                  " of priority required or important, which each host has: " +
                                  printable(base::join(collection.on_every_host, ", ")));
    for (const CollectedItem& item : collection.items)
        if (item.kind == "image")
            facts.add("Image",
                      printable(item.name) + ", " +
                          (item.sha256.empty() ? std::string("not fetched")
                                               : human_bytes(item.size) + ", sha256:" + item.sha256));
}

} // namespace

std::string render_collection(const Collection& collection, const CollectRequest& request,
                              const Screen& screen) {
    Facts facts;
    add_content(facts, collection, request);
    const Sum fetched = sum_of(collection, [](const auto& item) { return !item.present; });
    const Sum present = sum_of(collection, [](const auto& item) { return item.present; });
    facts.add(request.dry_run ? "To fetch" : "Fetched", fetched.text("item", "items"));
    if (present.files != 0)
        facts.add("Present", present.text("item", "items"));
    if (!request.dry_run && !collection.items.empty())
        facts.add("Wrote", printable(request.spec_path()));
    for (const std::string& note : collection.notes)
        facts.add("Note", note);
    for (const MissingItem& one : collection.missing) {
        facts.add("Missing", screen.paint(Style::Bad, printable(one.what + ": " + one.why)));
        facts.add("", printable(one.hint));
    }
    return facts.render(screen);
}

} // namespace gpuhost::ctl
