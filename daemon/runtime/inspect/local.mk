# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/set daemon/core daemon/runtime/toml
daemon_runtime_libruntime_a_SOURCES += \
    %D%/cdi_record.cpp \
    %D%/cdi_record.hpp \
    %D%/cdi_support.cpp \
    %D%/cdi_support.hpp \
    %D%/config.cpp \
    %D%/config.hpp \
    %D%/config_file.cpp \
    %D%/config_file.hpp \
    %D%/containerd_config.cpp \
    %D%/containerd_files.cpp \
    %D%/containerd_files.hpp \
    %D%/containerd_merge.cpp \
    %D%/containerd_merge.hpp \
    %D%/containerd_registries.cpp \
    %D%/containerd_registries.hpp \
    %D%/documents.cpp \
    %D%/documents.hpp \
    %D%/files.cpp \
    %D%/files.hpp \
    %D%/find.cpp \
    %D%/find.hpp \
    %D%/instance.cpp \
    %D%/instance.hpp \
    %D%/processes.cpp \
    %D%/processes.hpp \
    %D%/profiles.cpp \
    %D%/profiles.hpp \
    %D%/programs.cpp \
    %D%/programs.hpp \
    %D%/runtime_record.cpp \
    %D%/runtime_record.hpp \
    %D%/state.cpp \
    %D%/state.hpp \
    %D%/trusted_program.cpp \
    %D%/trusted_program.hpp \
    %D%/units.cpp \
    %D%/units.hpp \
    %D%/version.cpp \
    %D%/version.hpp
