// SPDX-License-Identifier: Apache-2.0
// Limits all timers of the daemon to FAKE_DAEMON_DEADLINE_MS, for tests of workers that hang: the deadlines
// of steps are minutes or hours.
#include <stdint.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

int __real_sd_event_add_time_relative(sd_event* event, sd_event_source** source, clockid_t clock,
                                      uint64_t usec, uint64_t accuracy, sd_event_time_handler_t callback,
                                      void* userdata);
int __wrap_sd_event_add_time_relative(sd_event* event, sd_event_source** source, clockid_t clock,
                                      uint64_t usec, uint64_t accuracy, sd_event_time_handler_t callback,
                                      void* userdata);

int __wrap_sd_event_add_time_relative(sd_event* event, sd_event_source** source, clockid_t clock,
                                      uint64_t usec, uint64_t accuracy, sd_event_time_handler_t callback,
                                      void* userdata) {
    const char* longest = getenv("FAKE_DAEMON_DEADLINE_MS");
    const uint64_t limit = longest ? strtoull(longest, NULL, 10) * 1000 : UINT64_MAX;
    return __real_sd_event_add_time_relative(event, source, clock, usec < limit ? usec : limit, accuracy,
                                             callback, userdata);
}
