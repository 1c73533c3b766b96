// SPDX-License-Identifier: Apache-2.0
// The files by which gpuhostd and gpuhost-devices talk (daemon/devices/offer.hpp), and gpuhostd's own record
// of what the offer was made from, in /run.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"
#include "daemon/devices/offer.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace gpuhost::devices {

/// A link to the directory below the kubelet's root in which gpuhost-devices registers.
inline constexpr std::string_view registry_link = "/run/gpuhost/devices/registry";

/// Returns nullopt if there is no offer, or if it can't be read.
[[nodiscard]] std::optional<Offer> read_offer(const base::Root& root);
[[nodiscard]] std::optional<Answer> read_answer(const base::Root& root);
/// Returns true if gpuhost-devices runs.
[[nodiscard]] bool is_served(const base::Root& root);

/// Writes an offer with a new id, and returns the id.
[[nodiscard]] base::Result<std::string> write_offer(const base::Root& root, Offer offer);
/// Removes the offer, its record and the link.
[[nodiscard]] base::Result<void> remove_offer(const base::Root& root);

/// The file of labels for the local source of Node Feature Discovery (NFD).
inline constexpr std::string_view features_path = "/etc/kubernetes/node-feature-discovery/features.d/gpuhost";
/// Returns true if the file has the labels of `offer`, the present one. Without an offer, or if the offer
/// does not ask for it, the file must not exist. An offer that can't be read changes nothing.
[[nodiscard]] bool has_features(const base::Root& root, const std::optional<Offer>& offer);
/// Writes or removes the file, so that it has the labels of the present offer.
[[nodiscard]] base::Result<void> write_features(const base::Root& root);
/// Does the same. A failure is a warning: pods get their GPUs without labels.
void publish_features(core::StepContext& context);

/// The facts that the present offer was made from.
struct OfferRecord {
    std::string id;      ///< of the offer
    base::Json inputs;   ///< offer_inputs()
    std::string problem; ///< why the offer is incomplete; empty: it is complete
};
[[nodiscard]] std::optional<OfferRecord> read_offer_record(const base::Root& root);
[[nodiscard]] base::Result<void> write_offer_record(const base::Root& root, const OfferRecord& record);

/// Saves the present offer for restore_offer(), once in a transaction, which `staging` identifies.
[[nodiscard]] base::Result<void> save_offer(const base::Root& root, const std::string& staging);
/// Restores the offer that save_offer() saved, with its record and the link. Does nothing if this transaction
/// saved none.
[[nodiscard]] base::Result<void> restore_offer(const base::Root& root, const std::string& staging);

/// Creates the directory below the kubelet's root in which gpuhost-devices registers, and the link to it.
/// Fails with Refused if a user other than root could replace a part of the path, or a part is a link.
[[nodiscard]] base::Result<void> make_registry(const base::Root& root, const std::string& kubelet_root);

/// Returns true if the link leads to that directory, and gpuhost-devices owns it. gpuhost-devices follows the
/// link only at its start, so it must end before the directory is created again or elsewhere.
[[nodiscard]] bool has_registry(const base::Root& root, const std::string& kubelet_root);

/// Waits until gpuhost-devices has ended, as it does without an offer. Returns false after `patience`.
[[nodiscard]] bool wait_for_end(const base::Root& root, std::chrono::milliseconds patience);

/// Waits until gpuhost-devices has answered the offer `id`, if it runs or systemd starts it within seconds.
/// Returns false after `patience`.
[[nodiscard]] bool wait_for_answer(const base::Root& root, const std::string& id,
                                   std::chrono::milliseconds patience);
/// Waits for the answer to the offer `id` for some seconds. Warns if there is none.
void confirm_offer(core::StepContext& context, const std::string& id);

} // namespace gpuhost::devices
