// SPDX-License-Identifier: Apache-2.0
#include "images/create/inventory.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/store/blob_store.hpp"
#include "images/store/generations.hpp"
#include "images/store/references.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view format = "gpuhost-inventory";
constexpr std::int64_t version = 1;
constexpr std::size_t longest = 512; ///< bytes of any text; an image's name may have 384
constexpr std::size_t most_rows = 10'000;
constexpr std::size_t most_images = 1'000'000;

base::Error bad(std::string_view why) {
    return {Errc::BadContent, std::string(why), "Export it again: gpuhostctl inventory export."};
}

/// Returns a text of an object; empty if it is absent. Fails if the text is too long or has control
/// characters, because it is printed on a terminal.
Result<std::string> get_text(const Json& object, std::string_view key) {
    std::string text = base::string_or(object, key, "");
    const bool fits = text.size() <= longest && std::none_of(text.begin(), text.end(), [](char c) {
                          return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
                      });
    if (!fits || (object.contains(std::string(key)) && !base::member(object, key).is_string()))
        return base::fail(bad("key '" + std::string(key) + "': not a valid text, or too long"));
    return text;
}

/// Parses each object of a list with `parse`, and adds the results to `rows`. The list may be absent.
template <class T>
Result<void> get_rows(const Json& object, std::string_view key, Result<T> (*parse)(const Json&),
                      std::vector<T>& rows, std::size_t most = most_rows) {
    const Json& list = base::member(object, key);
    if (list.is_null())
        return {};
    if (!list.is_array() || list.size() > most)
        return base::fail(bad("key '" + std::string(key) + "': not a list, or too long"));
    for (const Json& value : list) {
        if (!value.is_object())
            return base::fail(bad("key '" + std::string(key) + "': an entry is not an object"));
        GPUHOST_TRY(row, parse(value));
        rows.push_back(std::move(row));
    }
    return {};
}

Result<InventoryKernel> parse_kernel(const Json& value) {
    GPUHOST_TRY(release, get_text(value, "release"));
    if (!base::is_kernel_release(release))
        return base::fail(bad("'" + release + "' is not a kernel release"));
    const bool headers = base::bool_or(value, "headers", false);
    return InventoryKernel{std::move(release), base::bool_or(value, "running", false), headers,
                           base::bool_or(value, "compiler", headers)};
}

Result<InventoryGpu> parse_gpu(const Json& value) {
    InventoryGpu gpu;
    for (const auto& [key, member] :
         {std::pair("address", &InventoryGpu::address), std::pair("vendor", &InventoryGpu::vendor),
          std::pair("device", &InventoryGpu::device), std::pair("name", &InventoryGpu::name)}) {
        GPUHOST_TRY(text, get_text(value, key));
        gpu.*member = std::move(text);
    }
    return gpu;
}

Result<InventoryRuntime> parse_runtime(const Json& value) {
    GPUHOST_TRY(name, get_text(value, "name"));
    GPUHOST_TRY(path, get_text(value, "path"));
    GPUHOST_TRY(runs, get_text(value, "version"));
    return InventoryRuntime{std::move(name), std::move(path), std::move(runs)};
}

Result<InventoryDriver> parse_driver(const Json& value) {
    GPUHOST_TRY(driver, get_text(value, "version"));
    if (!base::is_driver_version(driver))
        return base::fail(bad("'" + driver + "' is not a driver version"));
    auto kernels = base::strings_or_empty(value, "modules");
    if (kernels.size() > most_rows || !std::all_of(kernels.begin(), kernels.end(), base::is_kernel_release))
        return base::fail(bad("key 'modules': not a list of kernel releases"));
    return InventoryDriver{std::move(driver), base::bool_or(value, "userland", false),
                           base::bool_or(value, "source", false), std::move(kernels)};
}

Result<RemovedBundle> parse_removed(const Json& value) {
    GPUHOST_TRY(name, get_text(value, "name"));
    const std::int64_t generation = base::int_or(value, "generation", 0);
    if (!is_bundle_name(name) || generation < 0)
        return base::fail(bad("'" + name + "': invalid bundle name or generation"));
    return RemovedBundle{std::move(name), static_cast<std::uint64_t>(generation)};
}

Result<InventoryBundle> parse_bundle(const Json& value) {
    GPUHOST_TRY(bundle, parse_removed(value));
    GPUHOST_TRY(manifest, get_text(value, "manifest"));
    return InventoryBundle{std::move(bundle.name), bundle.generation, std::move(manifest),
                           base::bool_or(value, "unsigned", false)};
}

Result<InventoryImage> parse_image(const Json& value) {
    GPUHOST_TRY(name, get_text(value, "name"));
    GPUHOST_TRY(digest, get_text(value, "digest"));
    const std::string hex(digest_hex(digest));
    if (hex.empty())
        return base::fail(bad("image '" + name + "' has no sha256 digest"));
    return InventoryImage{std::move(name), hex};
}

Result<void> parse_blobs(const Json& object, BlobSet& blobs) {
    const Json& list = base::member(object, "blobs");
    if (!list.is_null() && !list.is_array())
        return base::fail(bad("key 'blobs': not a list"));
    for (const Json& value : list) {
        const std::string* const hex = value.get_ptr<const std::string*>();
        if (hex == nullptr || !content::is_sha256(*hex))
            return base::fail(bad("key 'blobs': an entry is not a sha256 digest"));
        blobs.add(*hex);
    }
    blobs.finish();
    return {};
}

Result<void> parse_host(const Json& json, Inventory& inventory) {
    for (const auto& [key, member] :
         {std::pair("hostname", &Inventory::hostname), std::pair("gpuhost", &Inventory::gpuhost),
          std::pair("platform", &Inventory::platform), std::pair("wanted_driver", &Inventory::wanted_driver),
          std::pair("wanted_flavour", &Inventory::wanted_flavour)}) {
        GPUHOST_TRY(text, get_text(json, key));
        inventory.*member = std::move(text);
    }
    if (const Json& takes = base::member(json, "takes_drivers"); !takes.is_null() && !takes.is_boolean())
        return base::fail(bad("key 'takes_drivers': is neither true nor false"));
    inventory.accepts_drivers = base::bool_or(json, "takes_drivers", true);
    if (!is_platform(inventory.platform))
        return base::fail(bad("'" + inventory.platform + "' is not a platform"));
    if (!inventory.wanted_driver.empty() && !base::is_driver_version(inventory.wanted_driver))
        return base::fail(bad("'" + inventory.wanted_driver + "' is not a driver version"));
    if (!inventory.wanted_flavour.empty() && !is_flavour(inventory.wanted_flavour))
        return base::fail(bad("'" + inventory.wanted_flavour + "' is not a flavour"));
    const Json& distribution = base::member(json, "distribution");
    if (!distribution.is_object())
        return {};
    GPUHOST_TRY(id, get_text(distribution, "id"));
    GPUHOST_TRY(like, get_text(distribution, "id_like"));
    GPUHOST_TRY(release, get_text(distribution, "version_id"));
    inventory.distribution = {std::move(id), std::move(like), std::move(release)};
    return {};
}

Result<Inventory> parse(std::string_view text) {
    if (text.size() > inventory_limit)
        return base::fail(bad("is too large"));
    GPUHOST_TRY(json, base::parse_json(text, "the inventory"));
    if (!json.is_object() || base::string_or(json, "format", "") != format)
        return base::fail(bad("is not an inventory of a host"));
    if (base::int_or(json, "version", 0) != version)
        return base::fail(Errc::Unsupported, "format version not supported",
                          "Update gpuhost on this machine.");
    Inventory inventory;
    GPUHOST_CHECK(parse_host(json, inventory));
    GPUHOST_CHECK(get_rows(json, "kernels", parse_kernel, inventory.kernels));
    GPUHOST_CHECK(get_rows(json, "gpus", parse_gpu, inventory.gpus));
    GPUHOST_CHECK(get_rows(json, "runtimes", parse_runtime, inventory.runtimes));
    GPUHOST_CHECK(get_rows(json, "drivers", parse_driver, inventory.drivers));
    GPUHOST_CHECK(get_rows(json, "bundles", parse_bundle, inventory.bundles));
    GPUHOST_CHECK(get_rows(json, "removed_bundles", parse_removed, inventory.removed));
    GPUHOST_CHECK(get_rows(json, "images", parse_image, inventory.images, most_images));
    GPUHOST_CHECK(parse_blobs(json, inventory.blobs));
    return inventory;
}

template <class T, class F>
Json list_of(const std::vector<T>& rows, F to_value) {
    Json list = Json::array();
    for (const T& row : rows)
        list.push_back(to_value(row));
    return list;
}

Json kernels_of(const Inventory& inventory) {
    return list_of(inventory.kernels, [](const InventoryKernel& kernel) {
        return Json{{"release", kernel.release},
                    {"running", kernel.running},
                    {"headers", kernel.headers},
                    {"compiler", kernel.compiler}};
    });
}

Json gpus_of(const Inventory& inventory) {
    return list_of(inventory.gpus, [](const InventoryGpu& gpu) {
        Json value{{"address", gpu.address}, {"vendor", gpu.vendor}, {"device", gpu.device}};
        if (!gpu.name.empty())
            value["name"] = gpu.name;
        return value;
    });
}

Json runtimes_of(const Inventory& inventory) {
    return list_of(inventory.runtimes, [](const InventoryRuntime& runtime) {
        Json value{{"name", runtime.name}, {"path", runtime.path}};
        if (!runtime.version.empty())
            value["version"] = runtime.version;
        return value;
    });
}

Json drivers_of(const Inventory& inventory) {
    return list_of(inventory.drivers, [](const InventoryDriver& driver) {
        return Json{{"version", driver.version},
                    {"userland", driver.userland},
                    {"source", driver.source},
                    {"modules", driver.kernels}};
    });
}

Json bundles_of(const Inventory& inventory) {
    return list_of(inventory.bundles, [](const InventoryBundle& bundle) {
        Json value{{"name", bundle.name}, {"generation", bundle.generation}, {"manifest", bundle.manifest}};
        if (bundle.is_unsigned)
            value["unsigned"] = true;
        return value;
    });
}

Json removed_of(const Inventory& inventory) {
    return list_of(inventory.removed, [](const RemovedBundle& bundle) {
        return Json{{"name", bundle.name}, {"generation", bundle.generation}};
    });
}

Json images_of(const Inventory& inventory) {
    return list_of(inventory.images, [](const InventoryImage& image) {
        return Json{{"name", image.name}, {"digest", "sha256:" + image.hex}};
    });
}

void add_blobs(Inventory& inventory, const base::Root& root, const std::vector<OwnedBlob>& owned) {
    const BlobStore store(root);
    for (const OwnedBlob& blob : owned)
        if (store.has(blob.hex, blob.size))
            inventory.blobs.add(blob.hex);
}

} // namespace

void BlobSet::add(std::string_view hex) {
    Digest digest{};
    if (base::from_hex(hex, digest))
        digests_.push_back(digest);
}

void BlobSet::finish() {
    std::sort(digests_.begin(), digests_.end());
    digests_.erase(std::unique(digests_.begin(), digests_.end()), digests_.end());
}

bool BlobSet::has(std::string_view hex) const {
    Digest digest{};
    return base::from_hex(hex, digest) && std::binary_search(digests_.begin(), digests_.end(), digest);
}

std::vector<std::string> BlobSet::list() const {
    std::vector<std::string> texts;
    texts.reserve(digests_.size());
    for (const Digest& digest : digests_)
        texts.push_back(base::to_hex(digest));
    return texts;
}

HostFacts Inventory::facts() const {
    HostFacts facts{platform,
                    {},
                    distributions_of(distribution),
                    {{}, wanted_flavour, accepts_drivers && !wanted_driver.empty()}};
    for (const InventoryGpu& gpu : accepts_drivers ? gpus : std::vector<InventoryGpu>())
        facts.driver.gpus.push_back(gpu.vendor + ":" + gpu.device);
    for (const InventoryKernel& kernel : kernels)
        facts.kernels.push_back(kernel.release);
    return facts;
}

const InventoryDriver* Inventory::driver(std::string_view wanted) const {
    const auto found = std::find_if(drivers.begin(), drivers.end(),
                                    [&](const InventoryDriver& one) { return one.version == wanted; });
    return found == drivers.end() ? nullptr : &*found;
}

std::string to_text(const Inventory& inventory) {
    return base::dump_pretty({{"format", format},
                              {"version", version},
                              {"hostname", inventory.hostname},
                              {"gpuhost", inventory.gpuhost},
                              {"platform", inventory.platform},
                              {"distribution",
                               {{"id", inventory.distribution.id},
                                {"id_like", inventory.distribution.like},
                                {"version_id", inventory.distribution.version}}},
                              {"kernels", kernels_of(inventory)},
                              {"gpus", gpus_of(inventory)},
                              {"takes_drivers", inventory.accepts_drivers},
                              {"wanted_driver", inventory.wanted_driver},
                              {"wanted_flavour", inventory.wanted_flavour},
                              {"runtimes", runtimes_of(inventory)},
                              {"drivers", drivers_of(inventory)},
                              {"bundles", bundles_of(inventory)},
                              {"removed_bundles", removed_of(inventory)},
                              {"images", images_of(inventory)},
                              {"blobs", inventory.blobs.list()}}) +
           "\n";
}

Result<Inventory> parse_inventory(std::string_view text, std::string_view what) {
    auto inventory = parse(text);
    if (!inventory)
        return base::fail(std::move(inventory).error().context(std::string(what)));
    return inventory;
}

Result<void> add_store(Inventory& inventory, const base::Root& root) {
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    for (const std::string& name : names) {
        const auto record = catalogue.record(name);
        const auto owned = catalogue.blobs(name);
        if (!record || !owned)
            continue; // a damaged bundle, which must be imported again; or one that was removed meanwhile
        inventory.bundles.push_back({name, record->generation, record->manifest, !record->is_signed()});
        // Blobs that no bundle owns are not listed: the next import removes them, so a delta must contain
        // them.
        add_blobs(inventory, root, *owned);
    }
    // Ignores a damaged file of removed generations; an import fails with that error.
    for (auto& [name, generation] :
         removed_generations(root).value_or(std::map<std::string, std::uint64_t>()))
        inventory.removed.push_back({name, generation});
    GPUHOST_TRY(references, References::load(root));
    for (const Claim& claim : references.all())
        inventory.images.push_back({claim.name(), claim.hex});
    inventory.blobs.finish();
    return {};
}

} // namespace gpuhost::images
