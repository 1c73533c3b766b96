// SPDX-License-Identifier: Apache-2.0
// Stands in for libnvidia-ml.so.1 where no GPU can start. Says what the environment tells it to:
// STUB_NVML_ERROR (of nvmlInit), STUB_NVML_VERSION, STUB_NVML_DEVICES.
#include <stdio.h>
#include <stdlib.h>

static const char* value_or(const char* name, const char* fallback) {
    const char* value = getenv(name);
    return value ? value : fallback;
}

int nvmlInit_v2(void) {
    return atoi(value_or("STUB_NVML_ERROR", "0"));
}

int nvmlShutdown(void) {
    return 0;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
    snprintf(version, length, "%s", value_or("STUB_NVML_VERSION", ""));
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = (unsigned)atoi(value_or("STUB_NVML_DEVICES", "0"));
    return 0;
}

const char* nvmlErrorString(int error) {
    return error == 18 ? "Driver/library version mismatch" : "Unknown Error";
}
