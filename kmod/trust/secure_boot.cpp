// SPDX-License-Identifier: Apache-2.0
#include "kmod/trust/secure_boot.hpp"

#include "daemon/base/mapped_file.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/flavour_choice.hpp"
#include "kmod/store/store.hpp"
#include "kmod/trust/efi_signatures.hpp"

#include <fcntl.h>

namespace gpuhost::kmod {

using base::Json;
using base::Result;
using core::Problem;

namespace {

SetVerdict verdict(const base::Root& root, const std::string& version, const ModuleSet& set,
                   const TrustRules& rules) {
    SetVerdict made{version, set.flavour, set.digest, false, {}, {}};
    for (const ModuleFile& module : set.modules) {
        const std::string path = set.path + "/" + module.file;
        const auto fd = root.open_file(path, O_RDONLY | O_NOFOLLOW);
        const auto file = fd ? base::MappedFile::open(fd->get(), path) : base::fail(fd.error());
        auto problem =
            file ? signature_problem(module.name, file->view(), rules,
                                     [&](const std::string& text) { made.warnings.push_back(text); })
                 : Problem{file.error().code, file.error().message, "Import this version again."};
        if (problem)
            made.problems.push_back(*std::move(problem));
    }
    return made;
}

Json to_json(const KernelKeys& keys) {
    Json list = Json::array();
    for (const KernelKey& key : keys.keys)
        list.push_back(Json{{"name", key.name}, {"id", key.id}, {"keyrings", key.keyrings}});
    return list;
}

Json to_json(const SetVerdict& set) {
    return Json{{"version", set.version},   {"flavour", set.flavour},
                {"digest", set.digest},     {"selected", set.selected},
                {"warnings", set.warnings}, {"problems", core::to_json(set.problems)}};
}

} // namespace

std::string_view name(Trust trust) noexcept {
    switch (trust) {
    case Trust::Known:
        return "known";
    case Trust::ByName:
        return "by-name";
    case Trust::Distributor:
        return "platform";
    case Trust::Unknown:
        return "unknown";
    case Trust::Blacklisted:
        return "blacklisted";
    case Trust::NotTold:
        return "not-told";
    }
    return "unknown";
}

Trust trust_of(const content::ModuleCertificate& certificate, const TrustRules& rules) {
    content::ModuleSigner signer;
    signer.issuer = certificate.issuer;
    signer.serial = certificate.serial;
    return trust_of(signer, rules);
}

Result<SecureBoot> read_secure_boot(const base::Root& root, const DriverSettings& settings) {
    SecureBoot boot;
    GPUHOST_TRY(kernel, kernel_release(root));
    boot.kernel = kernel;
    boot.state = secure_boot_state(root);
    boot.rules = trust_rules(root, boot.kernel);
    if (const auto added = add_certificate(boot.rules, root, settings.signing.certificate); !added)
        boot.site_error = added.error().message;
    else if (!settings.signing.certificate.empty())
        boot.site = boot.rules.certificates.back();
    GPUHOST_TRY(store, read_store(root));
    const Selection* const selected = store.selection_of(boot.kernel);
    const std::string chosen = selected == nullptr ? "" : selected->generation.modules;
    const std::vector<PciGpu> gpus = nvidia_gpus(root);
    for (const DriverVersion& version : store.versions) {
        const ModuleSet* const taken =
            modules_to_use(store, version.version, boot.kernel, settings.flavour, gpus);
        for (const ModuleSet& set : version.modules)
            if (&set == taken || (set.digest == chosen && set.kernel == boot.kernel)) {
                boot.sets.push_back(verdict(root, version.version, set, boot.rules));
                boot.sets.back().selected = set.digest == chosen;
            }
    }
    return boot;
}

Json to_json(const SecureBoot& boot) {
    Json sets = Json::array();
    for (const SetVerdict& set : boot.sets)
        sets.push_back(to_json(set));
    Json site;
    if (boot.site)
        site = Json{{"name", boot.site->name},
                    {"key_id", boot.site->key_id},
                    {"not_after", boot.site->until},
                    {"kernel", name(trust_of(*boot.site, boot.rules))}};
    return Json{{"kernel", boot.kernel},
                {"secure_boot", boot.state},
                {"enforcement", boot.rules.enforcement},
                {"keys", boot.rules.keys ? to_json(*boot.rules.keys) : Json()},
                {"keyrings_known", boot.rules.keys && boot.rules.keys->in_keyrings},
                {"certificate", std::move(site)},
                {"certificate_error", boot.site_error},
                {"sets", std::move(sets)}};
}

} // namespace gpuhost::kmod
