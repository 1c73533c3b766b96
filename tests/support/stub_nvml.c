// SPDX-License-Identifier: Apache-2.0
// Stands in for libnvidia-ml.so.1 where no GPU can start. Says what the environment tells it to:
// STUB_NVML_ERROR (of nvmlInit), STUB_NVML_VERSION, STUB_NVML_DEVICES. Device N is at 0000:1N:00.0, and the minors count
// down, so that nobody takes one number for the other.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* As NVML's own header has it. */
struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

static unsigned device_count(void) {
    return (unsigned)atoi(value_or("STUB_NVML_DEVICES", "0"));
}

static void write_uuid(unsigned index, char* uuid, unsigned length) {
    snprintf(uuid, length, "GPU-00000000-0000-0000-0000-%012u", index);
}

/* A device's handle is its number, counted from 1. */
static unsigned index_of(const void* device) {
    return (unsigned)(size_t)device - 1;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    const int not_found = 6;
    *device = (void*)(size_t)(index + 1);
    return index < device_count() ? 0 : not_found;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    const int not_found = 6;
    char own[64];
    for (unsigned index = 0; index < device_count(); ++index) {
        write_uuid(index, own, sizeof own);
        if (strcmp(own, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(index, device);
    }
    return not_found;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
    write_uuid(index_of(device), uuid, length);
    return 0;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
    (void)device;
    snprintf(name, length, "NVIDIA H100 80GB HBM3");
    return 0;
}

int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
    *minor = device_count() - 1 - index_of(device);
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, struct pci_info* info) {
    memset(info, 0, sizeof *info);
    info->bus = 0x10 + index_of(device);
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
    return 0;
}
