# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto daemon/core kmod kmod/module kmod/store
kmod_libkmod_gpu_a_SOURCES += \
    %D%/efi_signatures.cpp \
    %D%/efi_signatures.hpp \
    %D%/kernel_keys.cpp \
    %D%/kernel_keys.hpp \
    %D%/keyring_members.cpp \
    %D%/module_trust.cpp \
    %D%/module_trust.hpp \
    %D%/secure_boot.cpp \
    %D%/secure_boot.hpp
