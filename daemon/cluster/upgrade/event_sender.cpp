// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/event_sender.hpp"

#include "daemon/cluster/upgrade/patch.hpp"

#include <utility>

namespace gpuhost::cluster {

namespace {

constexpr Time first_wait{2'000};
constexpr Time most_wait{60'000};
/// An equal text is not sent again within this time.
constexpr Time same_text{300'000};
constexpr unsigned most_tries = 12; ///< the same as client-go's recorder
constexpr std::size_t most_queued = 64;
constexpr unsigned conflict = 409; ///< an earlier try, whose answer was lost, created the event
constexpr unsigned too_many = 429;

/// Returns true if the same request may succeed later: no answer, too many requests, or a server error.
bool may_pass(unsigned status) {
    return status == 0 || status == too_many || status >= 500;
}

} // namespace

EventSender::EventSender(Api& api, LogLine log_line)
    : api_(api), log_(std::move(log_line)), backoff_(first_wait, most_wait) {}

void EventSender::send(const UpgradeNode& node, const UpgradeEvent& event) {
    send(node.uid + " " + std::to_string(node.record.attempts) + " " + event.message,
         upgrade_event(node, event, base::realtime_us()));
}

void EventSender::send(std::string text, base::Json event) {
    std::erase_if(sent_at_, [](const auto& one) { return now() >= one.second + same_text; });
    if (!sent_at_.emplace(text, now()).second)
        return;
    if (queue_.size() >= most_queued) { // keep the first, which may be in flight, and drop the second
        sent_at_.erase(queue_[1].text);
        queue_.erase(queue_.begin() + 1);
    }
    queue_.push_back({std::move(text), std::move(event)});
    if (!asks_ && !due_)
        create();
}

void EventSender::turn() {
    if (!due_ || now() < *due_)
        return;
    due_.reset();
    create();
}

void EventSender::retry() {
    backoff_.reset();
    if (due_)
        due_ = Time(0);
}

void EventSender::create() {
    asks_ = true;
    ++tries_;
    (void)api_.create("/api/v1/namespaces/default/events", queue_.front().event,
                      [this](ApiAnswer&& answer) { answered(answer); });
}

void EventSender::answered(const ApiAnswer& answer) {
    asks_ = false;
    if (!answer.done() && may_pass(answer.status) && tries_ < most_tries) {
        due_ = now() + std::max<Time>(backoff_.next(), answer.retry_after.value_or(std::chrono::seconds(0)));
        return;
    }
    if (!answer.done() && answer.status != conflict) {
        sent_at_.erase(queue_.front().text);
        if (std::exchange(logged_, answer.error.message) != answer.error.message)
            log_("can't create an event: " + answer.error.message);
    }
    backoff_.reset();
    tries_ = 0;
    queue_.pop_front();
    if (!queue_.empty())
        create();
}

} // namespace gpuhost::cluster
