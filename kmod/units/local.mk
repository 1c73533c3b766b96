# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/set daemon/core kmod kmod/module kmod/store
kmod_libkmod_gpu_a_SOURCES += \
    %D%/client_units.cpp \
    %D%/client_units.hpp \
    %D%/companion_services.cpp \
    %D%/companion_services.hpp \
    %D%/unit_steps.cpp
