// SPDX-License-Identifier: Apache-2.0
// The inventory of a host, a JSON file for the machine where bundles are made. 'bundle create --for' reads
// it, and computes which members the host needs, which it has already, and what it would lack. 'gpuhostctl
// inventory export' writes the file; gpuhost-bundle(5) describes the format. The reader treats it as
// untrusted input. It contains no secrets.
#pragma once

#include "images/bundle/distribution.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/store/catalogue.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct InventoryKernel {
    std::string release;
    bool running = false;
    bool headers = false; ///< its headers are installed
    /// The compiler for which its headers were made, and the other build tools, are installed.
    bool compiler = false;
};

struct InventoryGpu {
    std::string address; ///< "0000:65:00.0"
    std::string vendor;  ///< "10de"
    std::string device;  ///< "2330"
    std::string name;    ///< empty if the host does not have NVIDIA's name for it
};

struct InventoryRuntime {
    std::string name;    ///< "containerd"
    std::string path;    ///< path of its program
    std::string version; ///< version of its package; empty if unknown
};

/// One driver version in the host's store: which parts of it are present, in the flavour that the host's
/// settings name.
struct InventoryDriver {
    std::string version;
    bool userland = false;
    bool source = false;
    std::vector<std::string> kernels; ///< kernels for which it has modules
};

struct InventoryBundle {
    std::string name;
    std::uint64_t generation = 0;
    std::string manifest; ///< identity() of its manifest
    bool is_unsigned = false;
};

/// A signed bundle that was removed from the host. The host refuses generations older than the removed one.
struct RemovedBundle {
    std::string name;
    std::uint64_t generation = 0;
};

struct InventoryImage {
    std::string name;
    std::string hex;
};

/// A set of SHA-256 digests. Needs only 32 bytes a digest, because there may be many inventories with 100,000
/// digests each. Call finish() after the last add() and before has().
class BlobSet {
  public:
    /// Adds a digest. Ignores a text that is not 64 hex digits.
    void add(std::string_view hex);
    void finish();
    [[nodiscard]] bool has(std::string_view hex) const;
    [[nodiscard]] std::size_t size() const { return digests_.size(); }
    [[nodiscard]] std::vector<std::string> list() const;

  private:
    using Digest = std::array<std::uint8_t, 32>;
    std::vector<Digest> digests_;
};

struct Inventory {
    std::string hostname;
    std::string gpuhost; ///< version of gpuhost
    std::string platform;
    OsRelease distribution;
    std::vector<InventoryKernel> kernels;
    std::vector<InventoryGpu> gpus;
    /// False if Version= is "preinstalled" or "off": the host then imports no drivers.
    bool accepts_drivers = true;
    std::string wanted_driver;  ///< Version= in gpuhostd.conf; empty: not set
    std::string wanted_flavour; ///< Flavour= in gpuhostd.conf; empty: either
    std::vector<InventoryRuntime> runtimes;
    std::vector<InventoryDriver> drivers;
    std::vector<InventoryBundle> bundles;
    std::vector<RemovedBundle> removed;
    std::vector<InventoryImage> images;
    BlobSet blobs;

    /// Returns the properties by which members of a bundle are selected for the host.
    [[nodiscard]] HostFacts facts() const;
    /// Returns this version in the driver store; null if it is not there.
    [[nodiscard]] const InventoryDriver* driver(std::string_view version) const;
};

/// The largest inventory in bytes: enough for 800,000 blobs.
constexpr std::size_t inventory_limit = std::size_t{64} << 20U;

[[nodiscard]] std::string to_text(const Inventory& inventory);
/// Parses an inventory. `what` names it in errors. Fails with BadContent for an invalid inventory, and with
/// Unsupported for a newer format. Ignores unknown keys.
[[nodiscard]] base::Result<Inventory> parse_inventory(std::string_view text, std::string_view what);

/// Adds what is in the catalogue and the blob store of this host: bundles, removed bundles, images, blobs.
[[nodiscard]] base::Result<void> add_store(Inventory& inventory, const base::Root& root);

} // namespace gpuhost::images
