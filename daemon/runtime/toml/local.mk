# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
daemon_runtime_libruntime_a_SOURCES += \
    %D%/toml.cpp \
    %D%/toml.hpp \
    %D%/toml_edit.cpp \
    %D%/toml_edit.hpp \
    %D%/toml_writer.cpp \
    %D%/toml_writer.hpp
