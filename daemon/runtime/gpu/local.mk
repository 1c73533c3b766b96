# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/runtime/inspect
daemon_runtime_libruntime_a_SOURCES += \
    %D%/character_device.cpp \
    %D%/character_device.hpp \
    %D%/gpus.cpp \
    %D%/gpus.hpp \
    %D%/mig_minors.cpp \
    %D%/mig_minors.hpp \
    %D%/nvml_answer.cpp \
    %D%/nvml_answer.hpp
