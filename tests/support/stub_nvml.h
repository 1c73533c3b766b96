/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the NVML stub share. */
#ifndef STUB_NVML_H
#define STUB_NVML_H

enum {
    success = 0,
    invalid_argument = 2,
    not_supported = 3,
    no_permission = 4,
    not_found = 6,
    gpu_is_lost = 15,
    lib_rm_version_mismatch = 18,
    in_use = 19,
    insufficient_resources = 23
};
enum { most_devices = 16 };

const char* value_or(const char* name, const char* fallback);
unsigned device_count(void);
unsigned index_of(const void* device);
void* device_handle(unsigned index);
/* Returns gpu_is_lost for a device with a line "lost". */
int state_of(const void* device);
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor);

/* Returns whether the loaded driver has this version. */
int is_loaded(const char* version);

/* Returns whether a driver of another version is loaded. */
int is_another_loaded(const char* version);
/* Forgets all instances and all lines of the file. */
void forget_mig(void);
/* Reads a line of the file /stub-nvml. Returns 0 if it is not about MIG. */
int read_mig_line(const char* line);
/* Reads the instances that this library has created. */
int read_mig_state(void);
/* Returns whether a device has a line "ampere". */
int is_ampere(const void* device);
/* Return NULL if there is no such MIG device. */
void* mig_by_uuid(const char* uuid);
const char* mig_uuid(const void* handle);

#endif
