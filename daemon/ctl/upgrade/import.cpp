// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/contains.hpp"
#include "daemon/client/bundle_call.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/bundle/files.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/upgrade/options.hpp"
#include "daemon/ctl/upgrade/upgrade.hpp"

namespace gpuhost::ctl {

using base::Json;
using base::Result;

/// Checks a bundle as gpuhostd does before an import: signature, generation and space. Learns its drivers.
Result<Ran> Upgrade::check_bundle() {
    GPUHOST_TRY(files, open_bundle_files(input_.paths));
    GPUHOST_TRY(ran, check_request(session_, bundle_request(files)));
    if (ran.kind == Ran::Kind::DryRun && input_.kind == UpgradeInput::Kind::Bundle)
        note_drivers(ran.document);
    return std::move(ran);
}

/// Adds the driver versions in the outputs of an import.
void Upgrade::note_drivers(const Json& document) {
    if (!brought_)
        brought_.emplace();
    const auto add = [this](const std::string& version) {
        if (!version.empty() && !base::contains(*brought_, version))
            brought_->push_back(version);
    };
    for (const Json& output : list_of(document, "outputs")) {
        for (const std::string& version : base::strings_or_empty(output, "drivers"))
            add(version);
        add(text_of(output, "version"));
    }
}

Result<int> Upgrade::import() {
    switch (input_.kind) {
    case UpgradeInput::Kind::None:
        return 0;
    case UpgradeInput::Kind::Peer:
        return fetch();
    case UpgradeInput::Kind::Drivers:
        return import_drivers(false);
    case UpgradeInput::Kind::Bundle:
    case UpgradeInput::Kind::Stream:
        return import_bundle();
    }
    return 0;
}

Result<int> Upgrade::import_bundle() {
    GPUHOST_TRY(files, open_bundle_files(input_.paths));
    GPUHOST_TRY(ran, run_request(session_, bundle_request(files)));
    note_drivers(ran.document);
    return outcome_.add(ran);
}

/// Imports packages, then modules, each in an operation of its own. If a version is chosen, gpuhostd refuses
/// files of another one before it adds any file of the operation to the store.
Result<int> Upgrade::import_drivers(bool dry_run) {
    if (version_)
        input_.drivers.keep(*version_);
    GPUHOST_TRY(imports, open_driver_files(input_.drivers));
    if (!dry_run)
        brought_.reset(); // only the import shows which versions the packages really have
    client::Options options;
    if (version_ && !version_->empty())
        options["version"] = *version_;
    for (const std::vector<client::InputFile>& files : imports) {
        const client::Request request = client::request_of(client::driver_call("Import", {files}), options);
        GPUHOST_TRY(ran, dry_run ? check_request(session_, request) : run_request(session_, request));
        if (!dry_run)
            note_drivers(ran.document);
        if (const int status = outcome_.add(ran); status != 0)
            return status;
        if (!dry_run && &files != &imports.back()) {
            outcome_.add_done(noun(Part::Import));
            input_.has_imported_packages = true;
        }
    }
    return 0;
}

Result<int> Upgrade::fetch() {
    Json document{{"operations", Json::array()}, {"errors", Json::array()}};
    const auto status = fetch_bundles(session_, {input_.peer_bundle}, document, false);
    outcome_.add_operations(document["operations"]);
    if (status && *status != 0 && !document["errors"].empty())
        outcome_.set_error(document["errors"].back());
    if (!status || *status != 0)
        return status;
    GPUHOST_TRY(list, client_.ask(client::bundle_call("List")));
    brought_.emplace();
    for (const Json& bundle : list_of(list, "bundles"))
        if (text_of(bundle, "name") == input_.peer_bundle)
            brought_ = base::strings_or_empty(bundle, "drivers");
    return 0;
}

/// Chooses the version if it is known yet. Before the import, the names of packages may tell it.
/// After the import, checks that the input really has the version that was chosen before.
Result<void> Upgrade::choose() {
    if (std::vector<std::string> named = input_.drivers.versions(); !brought_ && !named.empty())
        brought_ = std::move(named);
    GPUHOST_TRY(facts, choice_facts());
    facts_ = facts;
    if (version_ && !imported_)
        return {};
    if (version_)
        facts.named = *version_;
    if (facts.has_input && facts.named.empty() && !facts.brought)
        return {};
    GPUHOST_TRY(version, choose_version(facts));
    version_ = std::move(version);
    outcome_.set_version(*version_);
    return {};
}

} // namespace gpuhost::ctl
